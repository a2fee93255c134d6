/**
 * The same text, in memory of its own: one that was cut out of another keeps all of that. For what is kept, and taken from what is not.
 */
export function flattenString(text: string): string {
  return Buffer.from(text).toString()
}
