/** The known word closest to a mistyped one, or undefined when none is close enough to have been meant. */
export function suggest(given: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestEdits = Math.max(1, Math.floor(given.length / 3)) + 1
  for (const word of known) {
    const edits = countEdits(given.toLowerCase(), word.toLowerCase())
    if (edits < bestEdits) {
      best = word
      bestEdits = edits
    }
  }
  return best
}

/** Levenshtein distance, with two neighbours swapped counting as one edit: the commonest slip of the fingers. */
function countEdits(a: string, b: string): number {
  let beforeLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, beforeLast[j - 2]! + 1)
      row.push(edits)
    }
    beforeLast = last
    last = row
  }
  return last[b.length]!
}
