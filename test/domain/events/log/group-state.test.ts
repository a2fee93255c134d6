import fc from 'fast-check'
import t from 'tap'
import { formatGroupState, parseGroupState } from '../../../../domain/events/log/group-state.ts'
import { scaleRuns } from '../../../fixtures/property-runs.ts'

const offset = fc.integer({ min: 1, max: 11_000 })

t.test('decodes an encoded state', (t) => {
  fc.assert(
    fc.property(
      fc.maxSafeNat(),
      fc.uniqueArray(offset, { maxLength: 50 }),
      fc.option(fc.maxSafeNat(), { nil: undefined }),
      fc.uniqueArray(fc.tuple(offset, fc.nat()), { selector: ([at]) => at, maxLength: 20 }),
      (from, done, sinceMs, counts) => {
        const acked = Math.min(from, Number.MAX_SAFE_INTEGER - 20_000)
        const ahead = done.map((at) => acked + at)
        const attempts = new Map(counts.map(([at, count]) => [acked + at, count]))
        const result = parseGroupState(formatGroupState({ acked, ahead, sinceMs, attempts }))
        t.strictSame(result, {
          acked,
          ahead: ahead.toSorted((a, b) => a - b),
          sinceMs,
          attempts,
        })
      },
    ),
    { numRuns: scaleRuns(100) },
  )
  t.end()
})

t.test('encodes common states in few bytes', (t) => {
  const state = { acked: 1e9, ahead: [], sinceMs: undefined, attempts: new Map() }
  t.equal(formatGroupState(state).length, 21)
  t.equal(formatGroupState({ ...state, ahead: [1e9 + 10_000] }).length, 21 + 1250)
  t.end()
})

t.test('rejects a state of another version', (t) => {
  const state = formatGroupState({ acked: 1, ahead: [], sinceMs: undefined, attempts: new Map() })
  state[0] = 9
  t.throws(() => parseGroupState(state), {
    message: 'the state of a group must have version 1, got 9',
  })
  t.end()
})
