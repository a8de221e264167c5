import { InvalidArgumentError } from 'commander';

/** A whole number of 0 or more, as an argument of the command line. Throws what commander tells the user. */
export function parseCount(text: string): number {
  if (!/^\d{1,15}$/u.test(text)) throw new InvalidArgumentError('Wanted a whole number.');
  return Number(text);
}

/** The same of 1 or more. */
export function parsePositive(text: string): number {
  const value = parseCount(text);
  if (value === 0) throw new InvalidArgumentError('Wanted 1 or more.');
  return value;
}
