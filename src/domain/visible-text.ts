/** Controls, format characters (bidirectional overrides, zero-width spaces, tags), lone surrogates, line separators. */
const INVISIBLE = /(?![\u200C\u200D])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

const NAMED: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\u001B': '\\e' };

/**
 * Text of an agent or environment as one line that is safe to draw: control and escape characters, and characters that
 * hide or reorder text, become visible escapes such as `\n`, `\e`, `\x07` and `\u{202e}`. Joiners stay, since scripts
 * and emoji need them.
 */
export function visibleText(text: string): string {
  return text.replaceAll(INVISIBLE, (character) => {
    const named = NAMED[character];
    if (named !== undefined) return named;
    const code = character.codePointAt(0) ?? 0;
    return code < 0x100 ? `\\x${code.toString(16).padStart(2, '0')}` : `\\u{${code.toString(16)}}`;
  });
}
