import t from 'tap'
import { createMemoryBroker } from '../../../adapters/broker/memory.ts'
import { createBroker } from '../../../domain/broker/broker.ts'
import { getBrokerAccess, setBrokerAccess } from '../../../sdk/internal/brokers.ts'

t.test('of each service its own broker is remembered', async (t) => {
  const [one, two] = [{}, {}]
  const broker = createBroker(createMemoryBroker())
  const own = { find: () => broker, closeToo: () => {} }
  setBrokerAccess(one, own)
  setBrokerAccess(two, { ...own, find: () => undefined })
  t.equal(getBrokerAccess(one), own)
  t.equal(getBrokerAccess(two).find(), undefined)
})
