/** Finds the known word closest to a mistyped word, or returns undefined if none is similar. */
export function suggest(text: string, known: Iterable<string>): string | undefined {
  let best: string | undefined
  let bestEdits = Math.max(1, Math.floor(text.length / 3)) + 1
  for (const word of known) {
    const edits = countEdits(text.toLowerCase(), word.toLowerCase())
    if (edits < bestEdits) {
      best = word
      bestEdits = edits
    }
  }
  return best
}

/**
 * Damerau-Levenshtein distance, in which swapping two adjacent characters, the most common typing error, is one edit.
 */
function countEdits(a: string, b: string): number {
  let secondLast: number[] = []
  let last = Array.from({ length: b.length + 1 }, (_, j) => j)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const same = a[i - 1] === b[j - 1]
      let edits = Math.min(last[j]! + 1, row[j - 1]! + 1, last[j - 1]! + (same ? 0 : 1))
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, secondLast[j - 2]! + 1)
      row.push(edits)
    }
    secondLast = last
    last = row
  }
  return last[b.length]!
}
