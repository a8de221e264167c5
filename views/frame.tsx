import { useCallback, useLayoutEffect, useMemo } from 'react';
import { pressKey } from './actions.ts';
import { FrameClock } from './frame-clock.ts';
import { useKeys } from './hooks/use-keys.ts';
import { usePicture } from './hooks/use-picture.ts';
import { useTerminalSize } from './hooks/use-terminal-size.ts';
import type { KeyName, MouseReport } from './keys.ts';
import type { Size } from './layout.ts';
import type { Look } from './look.ts';
import { Mouse } from './mouse.ts';
import type { Paste } from './paste.ts';
import { takePaste } from './paste-actions.ts';
import type { ScreenPainter } from './screen-painter.ts';
import type { Session } from './session.ts';

/** What the app is made of. */
export interface FrameProps {
  readonly session: Session;
  readonly look: Look;
  readonly painter: ScreenPainter;
}

/**
 * The whole app: keys in, rows out. Ink is given nothing to lay out, since every screen makes whole rows of the terminal itself; what
 * differs from the picture before is painted as soon as React has committed it.
 */
export function Frame({ session, look, painter }: FrameProps): null {
  const clock = useMemo(() => new FrameClock(session), [session]);
  const picture = usePicture(session, look, clock);
  useLayoutEffect(() => {
    painter.enter();
    return () => painter.leave();
  }, [painter]);
  useLayoutEffect(() => painter.paint(picture), [painter, picture]);
  const resize = useCallback(
    (size: Size) => {
      session.resize(size);
      clock.now();
    },
    [session, clock],
  );
  useTerminalSize(resize);
  const mouse = useMemo(() => new Mouse(session), [session]);
  useKeys({
    onKey: useCallback((key: KeyName) => pressKey(session, key, look), [session, look]),
    onPaste: useCallback((paste: Paste) => takePaste(session, paste), [session]),
    onMouse: useCallback((report: MouseReport) => mouse.take(report, look, Date.now()), [mouse, look]),
    onRead: useCallback(() => clock.now(), [clock]),
  });
  return null;
}
