import t from 'tap'
import { createNatsBroker } from '../../../adapters/broker/nats.ts'
import { parseNatsUrl } from '../../../adapters/nats/url.ts'
import { testBroker } from '../../contracts/broker.ts'
import { startNats } from '../../fixtures/nats.ts'

t.test('fulfills the broker contract', async (t) => {
  const server = await startNats(t)
  if (server === undefined) return
  let prefixes = 0
  testBroker(t, () =>
    createNatsBroker({ address: parseNatsUrl(`${server.url}?prefix=test${++prefixes}`) }),
  )
})
