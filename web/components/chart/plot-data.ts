/** Points that Page Up and Page Down move by. */
const PAGE = 10

/** Point that a key leads to; undefined: none. @param shown -1: none is shown yet, and keys start at the last one */
export function toPointIndex(key: string, shown: number, count: number): number | undefined {
  const last = count - 1
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 },
    ...{ PageDown: -PAGE, PageUp: PAGE, Home: -count, End: count },
  }
  const step = steps[key]
  if (step === undefined || count === 0) return undefined
  const from = shown === -1 ? last : shown
  return Math.min(last, Math.max(0, from + step))
}

/** With null where there is no value: uPlot draws a line across what is undefined. */
export function toPlotData(
  times: readonly number[],
  series: readonly { readonly values: readonly (number | undefined)[] }[],
): unknown {
  return [times, ...series.map(({ values }) => values.map((value) => value ?? null))]
}
