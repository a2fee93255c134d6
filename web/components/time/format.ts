const AGES: readonly (readonly [ms: number, unit: string])[] = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'min'],
  [1000, 's'],
]
const SIZES = ['B', 'KiB', 'MiB', 'GiB', 'TiB']

/** Formats a relative time, such as `now`, `5 min ago` or `in 2 h`. */
export function formatAge(ms: number): string {
  const length = Math.abs(ms)
  const [unitMs, unit] = AGES.find(([unitMs]) => length >= unitMs) ?? [1000, 's']
  const count = Math.floor(length / unitMs)
  if (count < 5 && unit === 's') return 'now'
  return ms < 0 ? `in ${count} ${unit}` : `${count} ${unit} ago`
}

/** Formats a size, such as `512 B` or `1.4 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes
  let unit = 0
  while (value >= 1024 && unit < SIZES.length - 1) {
    value /= 1024
    unit++
  }
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${SIZES[unit]}`
}

/** Formats a duration, such as `0 ms`, `0.8 ms`, `42 ms` or `1.25 s`. */
export function formatDuration(ms: number): string {
  if (ms >= 1000) return `${(ms / 1000).toFixed(2)} s`
  return `${ms >= 10 || ms < 0.05 ? Math.round(ms) : ms.toFixed(1)} ms`
}

/** Formats a count, such as `1,204`, `12.4 k` or `3.1 M`. */
export function formatCount(count: number): string {
  if (count >= 1_000_000) return `${(count / 1_000_000).toFixed(1)} M`
  if (count >= 10_000) return `${(count / 1000).toFixed(1)} k`
  return count.toLocaleString('en', { maximumFractionDigits: count < 10 ? 1 : 0 })
}
