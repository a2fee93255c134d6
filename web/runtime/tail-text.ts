/** The end of a text that comes in parts. */
export interface TailText {
  readonly push: (bytes: Uint8Array) => void
  readonly clear: () => void
  /** What is kept of it, whole lines. */
  readonly text: () => string
  /** Whether the beginning was left out. */
  readonly isCut: () => boolean
}

/** @param maxCharacters that are kept; twice as many for a moment. */
export function createTailText(maxCharacters: number): TailText {
  let decoder = new TextDecoder()
  let kept = ''
  let cut = false
  return {
    push(bytes) {
      kept += decoder.decode(bytes, { stream: true })
      if (kept.length <= 2 * maxCharacters) return
      const from = kept.length - maxCharacters
      const line = kept.indexOf('\n', from)
      kept = kept.slice(line === -1 ? from : line + 1)
      cut = true
    },
    clear() {
      decoder = new TextDecoder()
      kept = ''
      cut = false
    },
    text: () => kept,
    isCut: () => cut,
  }
}
