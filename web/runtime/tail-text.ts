/** Bounded buffer of the end of a text. */
export interface TailText {
  readonly push: (bytes: Uint8Array) => void
  readonly clear: () => void
  /** Retained text, starting at a line break. */
  readonly text: () => string
  /** Whether the beginning was dropped. */
  readonly isCut: () => boolean
}

/** @param maxCharacters retained; twice as many temporarily. */
export function createTailText(maxCharacters: number): TailText {
  let decoder = new TextDecoder()
  let tail = ''
  let isCut = false
  return {
    push(bytes) {
      tail += decoder.decode(bytes, { stream: true })
      if (tail.length <= 2 * maxCharacters) return
      const from = tail.length - maxCharacters
      const line = tail.indexOf('\n', from)
      tail = tail.slice(line === -1 ? from : line + 1)
      isCut = true
    },
    clear() {
      decoder = new TextDecoder()
      tail = ''
      isCut = false
    },
    text: () => tail,
    isCut: () => isCut,
  }
}
