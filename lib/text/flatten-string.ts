/**
 * Copies a text into its own memory: a slice would retain the whole text that it was taken from.
 */
export function flattenString(text: string): string {
  return Buffer.from(text).toString()
}
