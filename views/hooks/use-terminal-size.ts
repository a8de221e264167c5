import { useStdout } from 'ink';
import { useEffect } from 'react';
import type { Size } from '../layout.ts';

/** Size of a terminal that does not tell. */
const UNKNOWN: Size = { columns: 80, rows: 24 };

/** Reports the terminal's size now and at every change. */
export function useTerminalSize(onSize: (size: Size) => void): void {
  const { stdout } = useStdout();
  useEffect(() => {
    const report = (): void =>
      onSize({ columns: stdout.columns || UNKNOWN.columns, rows: stdout.rows || UNKNOWN.rows });
    report();
    stdout.on('resize', report);
    return () => void stdout.off('resize', report);
  }, [stdout, onSize]);
}
