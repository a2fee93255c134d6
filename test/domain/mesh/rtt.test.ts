import t from 'tap'
import { MAX_COST } from '../../../domain/mesh/limits.ts'
import { createRoundTrip } from '../../../domain/mesh/rtt.ts'

/** The cost after each round trip. */
function costs(...times: number[]): number[] {
  const roundTrip = createRoundTrip()
  return times.map((ms) => {
    roundTrip.add(ms)
    return roundTrip.cost
  })
}

t.test('computes a cost of 1 plus 1 per 5 ms', (t) => {
  t.strictSame(costs(0.2), [1])
  t.strictSame(costs(4.9), [1])
  t.strictSame(costs(5.1), [2])
  t.strictSame(costs(101), [21])
  t.strictSame(costs(1e9), [MAX_COST])
  t.end()
})

t.test('uses the minimum of the last eight samples', (t) => {
  t.strictSame(costs(90, 30, 0.5, 80), [19, 7, 1, 1])
  t.strictSame(costs(0.5, ...Array(8).fill(50)), [...Array(8).fill(1), 11])
  const roundTrip = createRoundTrip()
  for (const ms of [9, 3, 7]) roundTrip.add(ms)
  t.equal(roundTrip.ms, 3)
  t.end()
})

t.test('reports a change, with hysteresis at the edge of a step', (t) => {
  const roundTrip = createRoundTrip()
  t.ok(roundTrip.add(5.2))
  t.notOk(roundTrip.add(4.2), 'the cost is still 2')
  t.equal(roundTrip.cost, 2)
  t.ok(roundTrip.add(3))
  t.equal(roundTrip.cost, 1)
  const distant = createRoundTrip()
  for (const ms of [201, 190, 196]) distant.add(ms)
  t.equal(distant.cost, 41, 'the hysteresis is wider for long round trips')
  t.end()
})
