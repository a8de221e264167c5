import { Box, Text } from 'ink';
import { memo, type ReactElement, useCallback, useMemo } from 'react';
import { pressKey } from './actions.ts';
import { useKeys } from './hooks/use-keys.ts';
import { useScreen } from './hooks/use-screen.ts';
import { useTerminalSize } from './hooks/use-terminal-size.ts';
import type { KeyName, MouseReport } from './keys.ts';
import type { Size } from './layout.ts';
import type { Look } from './look.ts';
import { Mouse } from './mouse.ts';
import type { Paste } from './paste.ts';
import { takePaste } from './paste-actions.ts';
import type { Session } from './session.ts';

/** A row of the screen. One string each: Ink's cost grows with the number of texts. An empty text would have no height. */
const Row = memo(({ text }: { readonly text: string }) => (
  <Text wrap="truncate-end">{text === '' ? ' ' : text}</Text>
));

/** The whole app: keys in, rows out. */
export function Frame({ session, look }: { readonly session: Session; readonly look: Look }): ReactElement {
  const rows = useScreen(session, look);
  useTerminalSize(useCallback((size: Size) => session.resize(size), [session]));
  const mouse = useMemo(() => new Mouse(session), [session]);
  useKeys({
    onKey: useCallback((key: KeyName) => pressKey(session, key, look), [session, look]),
    onPaste: useCallback((paste: Paste) => takePaste(session, paste), [session]),
    onMouse: useCallback((report: MouseReport) => mouse.take(report, look, Date.now()), [mouse, look]),
  });
  return (
    <Box flexDirection="column" width={session.size.columns}>
      {rows.map((text, row) => (
        // oxlint-disable-next-line react/no-array-index-key -- a row of the screen is its number
        <Row key={row} text={text} />
      ))}
    </Box>
  );
}
