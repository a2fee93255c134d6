import type { LoadResult } from '../../cli/load/run-load.ts'
import { listFailures } from './load.ts'

/** A figure of a scenario. */
export interface Figure {
  readonly label: string
  readonly value: number
  readonly unit: 'ms' | 's' | 'MiB' | 'requests' | 'nodes' | '%' | '' | 'per second'
  /** Upper limit. */
  readonly atMost?: number
  /** Lower limit. */
  readonly least?: number
  /** Details of the figure. */
  readonly detail?: string
}

/** Result of a scenario. */
export interface Outcome {
  readonly name: string
  readonly title: string
  readonly figures: readonly Figure[]
}

/** Number of failed requests of a load, by outcome. @param atMost upper limit */
export function toFailures(label: string, result: LoadResult, atMost?: number): Figure {
  const failures = listFailures(result)
  const detail = Object.entries(failures).map(([kind, count]) => `${kind}: ${count}`)
  return {
    label: `${label}, of ${result.sent} requests`,
    value: Object.values(failures).reduce((sum, count) => sum + count, 0),
    unit: 'requests',
    ...(atMost !== undefined && { atMost }),
    ...(detail.length > 0 && { detail: detail.join(', ') }),
  }
}

/** True if a figure is within its limits. */
export function isWithinLimit({
  value,
  atMost = Number.POSITIVE_INFINITY,
  least = 0,
}: Figure): boolean {
  return value <= atMost && value >= least
}

/** Formats figures as a Markdown table. */
export function formatFigures(figures: readonly Figure[]): string {
  const lines = figures.map((figure) => {
    const { label, value, unit, atMost, least, detail } = figure
    const text = Number.isNaN(value) ? 'never' : `${formatValue(value)} ${unit}`.trim()
    const limit =
      atMost !== undefined ? `<= ${atMost}` : least !== undefined ? `>= ${formatValue(least)}` : ''
    const mark = isWithinLimit(figure) ? '' : ' **missed**'
    return `| ${label} | ${text}${detail === undefined ? '' : ` (${detail})`} | ${limit}${mark} |`
  })
  return `${['| what | figure | limit |', '|---|--:|--:|', ...lines].join('\n')}\n`
}

function formatValue(value: number): string {
  return Number.isInteger(value) ? String(value) : value.toFixed(value < 10 ? 2 : 1)
}
