import t from 'tap'
import { Flights } from '../../../../plugins/http/cache/flights.ts'

const LIMITS = { timeoutMs: 60_000, maxWaiting: 2 }

t.test('requests wait for the result of the first', async (t) => {
  const flights = new Flights(LIMITS)
  const flight = flights.begin('a')!
  t.equal(flights.begin('a'), undefined, 'one per key')
  const waiting = [flights.find('a')!.wait(), flights.find('a')!.wait()]
  t.equal(flights.waiting, 2)
  t.equal(flights.find('a'), undefined, 'maxWaiting')
  flight.end('stored')
  flight.end('canceled')
  t.strictSame(await Promise.all(waiting), ['stored', 'stored'])
  t.equal(flights.waiting, 0)
  t.equal(flights.find('a'), undefined)
})

t.test('requests for an unshared response do not wait until one is stored', (t) => {
  const flights = new Flights(LIMITS)
  flights.begin('a')!.end('unshared')
  t.equal(flights.begin('a'), undefined)
  const other = new Flights(LIMITS)
  other.begin('a')!.end('canceled')
  t.ok(other.begin('a'))
  t.end()
})

t.test('requests stop waiting at the time limit, and later ones do not wait', async (t) => {
  const flights = new Flights({ ...LIMITS, timeoutMs: 1 })
  const flight = flights.begin('a')!
  t.equal(await flight.wait(), 'late')
  t.equal(flights.find('a'), undefined)
  flight.end('stored')
  t.ok(flights.begin('a'))
})

t.test('a time limit of 0 disables collapsing', (t) => {
  t.equal(new Flights({ ...LIMITS, timeoutMs: 0 }).begin('a'), undefined)
  t.end()
})
