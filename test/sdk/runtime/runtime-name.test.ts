import t from 'tap'
import { toRuntimeName } from '../../../sdk/runtime/runtime-name.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'

t.teardown(() => {
  for (const name of ['MX_INSTANCE', 'MX_SERVICE_NAME']) delete process.env[name]
})

t.test('the runtime renames only the first service of a program', async (t) => {
  t.equal(toRuntimeName('hello'), 'hello', 'not run by the runtime')
  process.env['MX_SERVICE_NAME'] = 'shop'
  t.equal(toRuntimeName('hello'), 'hello', 'still not run by the runtime')
  process.env['MX_INSTANCE'] = 'c0ffee'
  const service = new Service({ name: 'hello', address: '127.0.0.1:0' })
  service.handle('Shop', { call: endpoint({ handle: () => 'called' }) })
  t.equal(service.name, 'shop')
  t.equal(toRuntimeName('hello'), 'shop', 'repeated for the same service')
  t.equal(toRuntimeName('other'), 'other')
  t.throws(() => toRuntimeName('shop'), {
    ...{ name: 'TypeError', message: /^the service hello of this program runs as shop .*--name/ },
  })
  await service.start()
  t.teardown(() => service.stop())
  t.equal(await service.client.call('shop', 'Shop.Call'), 'called')
})
