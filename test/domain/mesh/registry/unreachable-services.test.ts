import t from 'tap'
import { MAX_ADVERTISED_BYTES, MAX_DESTINATIONS } from '../../../../domain/mesh/limits.ts'
import { createUnreachableServices } from '../../../../domain/mesh/registry/unreachable-services.ts'
import { makeService } from '../../../fixtures/services.ts'

const makeUnreachable = (name: string, bytes: number) => ({
  name,
  services: [makeService(name, [])],
  owners: ['b'],
  bytes,
  ageMs: 0,
})

// Retention is tested with the registry (route-registry.test.ts).
t.test('limits lost services and evicts the oldest', async (t) => {
  const unreachable = createUnreachableServices({ isReachable: () => false, nowMs: () => 0 })
  for (let i = 0; i < MAX_DESTINATIONS; i++) unreachable.add(makeUnreachable(`s${i}`, 1))
  t.equal(unreachable.list().length, MAX_DESTINATIONS)
  t.strictSame(unreachable.add(makeUnreachable('more', 1)), ['s0'])
  t.strictSame(unreachable.add(makeUnreachable('s1', 1)), [], 'an existing service is replaced')
  const evicted = unreachable.add(makeUnreachable('big', MAX_ADVERTISED_BYTES - 2))
  t.equal(evicted.length, MAX_DESTINATIONS - 2)
  t.strictSame(
    unreachable.list().map(({ name }) => name),
    ['more', 's1', 'big'],
  )
  t.strictSame(
    unreachable.add(makeUnreachable('too-big', MAX_ADVERTISED_BYTES + 1)).at(-1),
    'too-big',
  )
  t.strictSame(unreachable.list(), [])
})
