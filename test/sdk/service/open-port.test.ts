import t from 'tap'
import { createDispatcher } from '../../../sdk/service/dispatch.ts'
import { checkPortOptions, openPort } from '../../../sdk/service/open-port.ts'
import { createQuietLog } from '../../fixtures/sdk-services.ts'
import { openHost } from '../../fixtures/service-host.ts'

const dispatcher = createDispatcher({ service: 'a', log: createQuietLog('a').log })

t.test('a service opens a port or joins a shared one', async (t) => {
  const separate = await openPort({ address: '127.0.0.1:0', listener: 'node' }, dispatcher)
  t.match(separate, { address: /^127\.0\.0\.1:[1-9]\d*$/, server: 'node' })
  await separate.close()
  const host = await openHost(t)
  const shared = await openPort({ host }, dispatcher)
  t.equal(shared.address, host.address)
  t.strictSame(host.names(), ['a'])
  await shared.close()
  t.strictSame(host.names(), [])
})

t.test('an invalid address, or port options with a shared port, are rejected', async (t) => {
  t.throws(() => checkPortOptions('a', { address: 'nowhere' }), /address must be host:port/)
  const host = await openHost(t)
  for (const options of [{ address: ':0' }, { limits: {} }, { listener: 'uws' }, { origins: [] }])
    t.throws(() => checkPortOptions('a', { host, ...options } as object), {
      name: 'TypeError',
      message: `${Object.keys(options)} requires a separate port, but the service a uses a shared one`,
    })
  t.doesNotThrow(() => checkPortOptions('a', { host }))
})
