/**
 * Copies a text into separate memory, since a slice would retain the complete original text.
 */
export function flattenString(text: string): string {
  return Buffer.from(text).toString()
}
