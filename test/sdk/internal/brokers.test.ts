import t from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { getOwnBroker, setOwnBroker } from '../../../sdk/internal/brokers.ts'

t.test('of each service its own broker is remembered', async (t) => {
  const [one, two] = [{}, {}]
  const broker = createBroker(createMemoryBroker())
  const own = { find: () => broker, closeToo: () => {} }
  setOwnBroker(one, own)
  setOwnBroker(two, { ...own, find: () => undefined })
  t.equal(getOwnBroker(one), own)
  t.equal(getOwnBroker(two).find(), undefined)
})
