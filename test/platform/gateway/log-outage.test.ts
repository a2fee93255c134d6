import { pino } from 'pino'
import t from 'tap'
import type { OutageState } from '../../../core/registry/outage-tracker.ts'
import { logOutage } from '../../../platform/gateway/log-outage.ts'

t.test('logs an outage with reason and duration as a warning, its end as info', async (t) => {
  const lines: Record<string, unknown>[] = []
  const log = pino(
    { base: null, timestamp: false },
    { write: (line) => lines.push(JSON.parse(line)) },
  )
  const reason = new Error('connection refused')
  const logState = (state: OutageState, durationMs: number): void =>
    logOutage(log, state, { reason, durationMs }, 42)
  logState('started', 0)
  logState('ongoing', 60_400)
  logState('ended', 65_000)
  const [WARN, INFO] = [40, 30]
  t.strictSame(lines, [
    {
      level: WARN,
      reason: 'connection refused',
      seconds: 0,
      services: 42,
      msg: 'registry unavailable; services in use are served from the cache',
    },
    {
      level: WARN,
      reason: 'connection refused',
      seconds: 60,
      services: 42,
      msg: 'registry still unavailable; services in use are served from the cache',
    },
    { level: INFO, seconds: 65, msg: 'registry available again' },
  ])
})

t.test('does not mention the cache without services in use', async (t) => {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line) => lines.push(line) })
  const outage = { reason: new Error('connection refused'), durationMs: 0 }
  for (const state of ['started', 'ongoing'] as const) logOutage(log, state, outage, 0)
  t.same(
    lines.map((line) => JSON.parse(line).msg),
    ['registry unavailable', 'registry still unavailable'],
  )
})
