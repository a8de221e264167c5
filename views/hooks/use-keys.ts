import { useStdin } from 'ink';
import { useEffect } from 'react';
import { KeyDecoder, type KeyName, type MouseReport } from '../keys.ts';

/** Ms after which an Escape that nothing follows is the Escape key; terminals send a sequence in one go. */
const ESCAPE_MS = 25;

/**
 * Calls back once for every key, and for every click and turn of the wheel. Ink's own useInput hands over what one read brought as one input: over SSH a held key
 * arrives as `jjj`, and two arrow keys as one unknown sequence.
 */
export function useKeys(onKey: (key: KeyName) => void, onMouse: (report: MouseReport) => void): void {
  const { stdin, setRawMode } = useStdin();
  useEffect(() => {
    const decoder = new KeyDecoder(onMouse);
    let timer: NodeJS.Timeout | null = null;
    const receive = (chunk: Buffer | string): void => {
      if (timer !== null) clearTimeout(timer);
      for (const key of decoder.push(chunk.toString())) onKey(key);
      if (!decoder.pending) return;
      timer = setTimeout(() => {
        for (const key of decoder.flush()) onKey(key);
      }, ESCAPE_MS);
    };
    // Ink reads the terminal while raw mode is on; each of its reads is announced here too.
    setRawMode(true);
    stdin.on('data', receive);
    return () => {
      if (timer !== null) clearTimeout(timer);
      stdin.off('data', receive);
      setRawMode(false);
    };
  }, [stdin, setRawMode, onKey, onMouse]);
}
