import { signal } from '@preact/signals'
import type { JSX } from 'preact'
import { formatAge } from './format.ts'
import { formatDateTime } from './format-time.ts'

const TICK_MS = 10_000
const nowMs = signal(Date.now())
setInterval(() => {
  nowMs.value = Date.now()
}, TICK_MS)

/** Relative time with the absolute time as tooltip. */
export function Time({ ms }: { readonly ms: number }): JSX.Element {
  const date = new Date(ms)
  if (Number.isNaN(date.getTime())) return <span>–</span>
  return (
    <time dateTime={date.toISOString()} title={formatDateTime(ms)}>
      {formatAge(nowMs.value - ms)}
    </time>
  )
}
