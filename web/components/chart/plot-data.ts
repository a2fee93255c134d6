/** Step of Page Up and Page Down in points. */
const PAGE = 10

/**
 * Index of the point that a key moves to; undefined for keys without a function.
 *
 * @param active index of the current point; -1 if no point is active, so that keys start at the last point
 */
export function toPointIndex(key: string, active: number, count: number): number | undefined {
  const last = count - 1
  const steps: Readonly<Record<string, number>> = {
    ...{ ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 },
    ...{ PageDown: -PAGE, PageUp: PAGE, Home: -count, End: count },
  }
  const step = steps[key]
  if (step === undefined || count === 0) return undefined
  const from = active === -1 ? last : active
  return Math.min(last, Math.max(0, from + step))
}

/** Converts data to uPlot's format, with null for missing values, because uPlot draws a line across undefined. */
export function toPlotData(
  times: readonly number[],
  series: readonly { readonly values: readonly (number | undefined)[] }[],
): unknown {
  return [times, ...series.map(({ values }) => values.map((value) => value ?? null))]
}
