import { useStdin } from 'ink';
import { useEffect } from 'react';
import { KeyDecoder, type KeyName, type MouseReport } from '../keys.ts';
import type { Paste } from '../paste.ts';

/** What is told of the keyboard and the mouse. All must stay the same from call to call. */
export interface KeyListeners {
  readonly onKey: (key: KeyName) => void;
  readonly onPaste: (paste: Paste) => void;
  readonly onMouse: (report: MouseReport) => void;
  /** All that arrived together has been told. */
  readonly onRead: () => void;
}

/**
 * Calls back once for every key and paste, and for every click and turn of the wheel. Ink's own useInput hands over what one read brought as one input: over SSH a held key
 * arrives as `jjj`, and two arrow keys as one unknown sequence.
 */
export function useKeys({ onKey, onPaste, onMouse, onRead }: KeyListeners): void {
  const { stdin, setRawMode } = useStdin();
  useEffect(() => {
    const decoder = new KeyDecoder(onMouse);
    let timer: NodeJS.Timeout | null = null;
    const tell = (typed: readonly (KeyName | Paste)[]): void => {
      for (const each of typed) {
        if (typeof each === 'string') onKey(each);
        else onPaste(each);
      }
      onRead();
    };
    const receive = (chunk: Buffer | string): void => {
      if (timer !== null) clearTimeout(timer);
      tell(decoder.push(chunk.toString()));
      const { patienceMs } = decoder;
      if (patienceMs !== null) timer = setTimeout(() => tell(decoder.flush()), patienceMs);
    };
    // Ink reads the terminal while raw mode is on; each of its reads is announced here too.
    setRawMode(true);
    stdin.on('data', receive);
    return () => {
      if (timer !== null) clearTimeout(timer);
      stdin.off('data', receive);
      setRawMode(false);
    };
  }, [stdin, setRawMode, onKey, onPaste, onMouse, onRead]);
}
