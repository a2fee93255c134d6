/** A bounded buffer for the end of a text. */
export interface TailText {
  readonly push: (bytes: Uint8Array) => void
  readonly clear: () => void
  /** Retained text, which starts at a line break. */
  readonly text: () => string
  /** True if the beginning was dropped. */
  readonly isTruncated: () => boolean
}

/** @param maxCharacters number of retained characters; temporarily up to twice as many. */
export function createTailText(maxCharacters: number): TailText {
  let decoder = new TextDecoder()
  let tail = ''
  let isTruncated = false
  return {
    push(bytes) {
      tail += decoder.decode(bytes, { stream: true })
      if (tail.length <= 2 * maxCharacters) return
      const from = tail.length - maxCharacters
      const line = tail.indexOf('\n', from)
      tail = tail.slice(line === -1 ? from : line + 1)
      isTruncated = true
    },
    clear() {
      decoder = new TextDecoder()
      tail = ''
      isTruncated = false
    },
    text: () => tail,
    isTruncated: () => isTruncated,
  }
}
