import { spawn } from 'node:child_process'
import { once } from 'node:events'
import t, { type Test } from 'tap'
import { createMxRegistry } from '../../../adapters/registry/mx.ts'
import { Client } from '../../../sdk/client/client.ts'
import {
  findOpenRegistry,
  openRegistry,
  toRegistrySource,
} from '../../../sdk/registry/open-registry.ts'
import { endpoint } from '../../../sdk/service/endpoint.ts'
import { Service } from '../../../sdk/service/service.ts'
import { testRegistry } from '../../contracts/registry.ts'
import { openPlatformRegistry } from '../../fixtures/platform-registry.ts'
import { LOADER, toModule } from '../../fixtures/programs.ts'
import { waitUntil } from '../../fixtures/raw-backend.ts'
import { createQuietLog, createService, openClient } from '../../fixtures/sdk-services.ts'
import { makeService, replaceServices } from '../../fixtures/services.ts'

testRegistry(t, () => {
  const { registry, close } = openRegistry('memory')
  return {
    registry: { ...registry, close },
    replaceServices: (services) => replaceServices(registry, services),
  }
})

const greet = { call: endpoint({ handle: async () => ({ message: `from ${process.pid}` }) }) }

async function start(t: Test, registry: string, name = 'greeter'): Promise<Service> {
  const service = createService(t, { name, registry })
  service.handle('Greeter', greet)
  await service.start()
  return service
}

/** Sets `MX_REGISTRY` for a test. */
function setVariable(t: Test, value: string): void {
  process.env['MX_REGISTRY'] = value
  t.teardown(() => {
    delete process.env['MX_REGISTRY']
  })
}

t.test('a service and a client connect to the registry at an address', async (t) => {
  const { address, registry } = await openPlatformRegistry(t)
  const text = `mx://${address}`
  const service = await start(t, text)
  t.match(await registry.getService('greeter'), [{ nodes: [{ metadata: { registry: 'mx' } }] }])
  const client = openClient(t, { registry: text })
  t.same(await client.call('greeter', 'Greeter.Call'), { message: `from ${process.pid}` })
  await service.stop()
  t.same(await registry.getService('greeter'), [])
})

t.test(
  'services of one process with the same registry call each other without sockets',
  async (t) => {
    const { address, registry } = await openPlatformRegistry(t)
    const text = `mx://${address}`
    await start(t, text)
    // Without its entry it cannot be found over sockets.
    for (const entry of await registry.getService('greeter')) await registry.deregister!(entry)
    const other = createService(t, { name: 'other', registry: ` ${text} ` })
    const client = new Client({ registry: text })
    t.teardown(() => client.close())
    for (const caller of [client, other.client])
      t.same(await caller.call('greeter', 'Greeter.Call'), { message: `from ${process.pid}` })
    const remoteRegistry = createMxRegistry({
      host: '127.0.0.1',
      port: Number(address.split(':')[1]),
    })
    t.teardown(() => remoteRegistry.close!())
    const remote = openClient(t, { registry: remoteRegistry })
    await t.rejects(remote.call('greeter', 'Greeter.Call'), { code: 404 })
  },
)

t.test('a registry is shared by its address and closed by its last user', async (t) => {
  const one = openRegistry('memory')
  const two = openRegistry(' memory ')
  t.equal(one.registry, two.registry)
  await one.registry.register!(makeService('greeter', ['127.0.0.1:9001']))
  await one.close()
  await one.close()
  t.equal((await two.registry.getService('greeter')).length, 1, 'closing twice is counted once')
  await two.close()
  const acme = openRegistry('memory', { domain: 'acme' })
  t.teardown(acme.close)
  t.not(acme.registry, one.registry, 'domains are separate')
  t.equal(findOpenRegistry('memory', 'acme'), acme.registry)
  const three = openRegistry('memory')
  t.teardown(three.close)
  t.not(three.registry, one.registry)
  t.same(await three.registry.getService('greeter'), [], 'a new registry')
})

t.test('the connection closes with the last service or client', async (t) => {
  const { address } = await openPlatformRegistry(t)
  const text = `mx://${address}`
  const service = await start(t, text)
  const client = openClient(t, { registry: text })
  await client.call('greeter', 'Greeter.Call')
  const { registry, close } = openRegistry(text)
  await close()
  await service.stop()
  t.equal((await registry.getService('registry')).length, 1, 'the client keeps the connection open')
  client.close()
  await t.rejects(Promise.resolve(registry.getService('registry')), { message: /is closed/ })
})

t.test('MX_REGISTRY is the default', async (t) => {
  const { address, registry } = await openPlatformRegistry(t)
  setVariable(t, `mx://${address}`)
  const service = createService(t)
  await service.start()
  t.equal((await registry.getService('greeter')).length, 1)
  t.equal(toRegistrySource(undefined), `mx://${address}`)
  t.equal(toRegistrySource('memory'), 'memory', 'the option takes precedence')
})

t.test('an empty MX_REGISTRY, or `static`, means no registry', async (t) => {
  for (const none of ['', 'static', ' static ']) {
    setVariable(t, none)
    t.equal(toRegistrySource(undefined), undefined)
    await t.rejects(
      openClient(t, {}).call('greeter', 'Greeter.Call'),
      /requires a registry, a proxy or an address/,
    )
  }
})

t.test('an unknown registry value is rejected with the accepted forms', async (t) => {
  const invalid = [
    '',
    'static',
    'redis://a:1',
    'mx://',
    'mx://host',
    'mx://host:1/x',
    'mx://a b:1',
    'memory:',
    'MX://a:1',
  ]
  for (const text of invalid) {
    const expected = {
      name: 'TypeError',
      message: new RegExp(
        `^registry must be memory, mx://host:port, .* got ${JSON.stringify(text)}$`,
      ),
    }
    t.throws(() => openRegistry(text), expected)
    t.throws(() => new Service({ name: 'greeter', registry: text }), expected)
    t.throws(() => new Client({ registry: text }), expected)
  }
  setVariable(t, 'redis://a:1')
  t.throws(() => new Client(), {
    message: /^MX_REGISTRY must be memory, .* got "redis:\/\/a:1"$/,
  })
})

t.test(
  'an invalid registry address is rejected with the option or variable and the reason',
  async (t) => {
    const invalid: [string, RegExp][] = [
      ['consul://secret@a?tocken=x', /: unknown parameter "tocken" of consul:\/\//],
      ['consul://secret@a/x', /: a Consul URL has no path: .*"consul:\/\/\[hidden\]@a\/x"$/],
      ['consul://a?ca=x.pem', /: certificates require consuls:\/\//],
      ['consul://secret@a:99999?dc=x', /: the port of consul:\/\/host:port must be .*, got 99999$/],
      ['consuls://a:0', /: the port of consuls:\/\/host:port must be from 1 to 65535, got 0$/],
      ['mx://a:65536', /: the port of mx:\/\/host:port must be from 1 to 65535, got 65536$/],
      ['mxs://[::1]:0', /: the port of mxs:\/\/host:port must be from 1 to 65535, got 0$/],
    ]
    for (const [text, message] of invalid) {
      const expect = (name: string) => ({
        name: 'TypeError',
        message: new RegExp(`^${name}${message.source}`),
      })
      t.throws(() => new Service({ name: 'greeter', registry: text }), expect('registry'), text)
      t.throws(() => new Client({ registry: text }), expect('registry'))
      t.throws(() => openRegistry(text), expect('registry'))
      setVariable(t, text)
      t.throws(() => new Client(), expect('MX_REGISTRY'))
      t.throws(
        () => new Client({ registry: text }),
        { message: /^(?!.*secret)/ },
        'the token is not included',
      )
    }
    for (const text of ['consul://', 'consul://secret@[::1]:8500/?dc=x', 'mx://[::1]:65535'])
      t.equal(toRegistrySource(text), text)
  },
)

t.test('with an unreachable registry, a service starts and registers later', async (t) => {
  const { address, close } = await openPlatformRegistry(t)
  await close()
  const { log, lines } = createQuietLog()
  const service = new Service({ name: 'greeter', registry: `mx://${address}`, log })
  t.teardown(() => service.stop())
  await service.start()
  const [warning, ready] = lines.map((line) => JSON.parse(line) as Record<string, unknown>)
  t.match(warning, {
    msg: 'registration failed, retrying',
    reason: /^the registry mx:\S+ is unreachable: .*ECONNREFUSED/,
  })
  t.match(ready, { msg: 'service ready', registry: `mx://${address}` })
  const { registry } = await openPlatformRegistry(t, { address })
  await waitUntil(() => lines.length === 3)
  t.match(lines[2], /"msg":"registered"/)
  t.match(await registry.getService('greeter'), [{ nodes: [{ address: service.address }] }])
})

t.test('a permanently unusable registry prevents the start', async (t) => {
  const service = createService(t, { registry: 'consuls://127.0.0.1:1?ca=/nonexistent.pem' })
  await t.rejects(service.start(), { message: /^cannot read the ca file for Consul: ENOENT/ })
})

t.test('a server that is not a registry prevents the start', async (t) => {
  const other = createService(t, { name: 'other' })
  const service = createService(t, { registry: `mx://${await other.start()}` })
  await t.rejects(service.start(), {
    message: /^cannot register greeter \(mx\): the registry mx:\S+ denied the request \(404\): /,
  })
})

t.test('a read-only registry has no register function', async (t) => {
  // Neither in a cluster nor with a kubeconfig.
  const before = process.env['KUBECONFIG']
  process.env['KUBECONFIG'] = '/nonexistent/kubeconfig'
  t.teardown(() => {
    if (before === undefined) delete process.env['KUBECONFIG']
    else process.env['KUBECONFIG'] = before
  })
  const { registry, close } = openRegistry('kubernetes')
  t.teardown(close)
  t.equal(registry.register, undefined)
  await t.rejects(Promise.resolve(registry.getService('greeter')), Error)
})

t.test('a program exits after its calls, even with an open client', async (t) => {
  const { address } = await openPlatformRegistry(t)
  await start(t, `mx://${address}`)
  const client = toModule(new URL('../../../sdk/client/client.ts', import.meta.url))
  const script = `
    const { Client } = await import(${JSON.stringify(client)})
    const { message } = await new Client().call('greeter', 'Greeter.Call')
    console.log(message)`
  const child = spawn(process.execPath, [...LOADER, '--input-type=module', '-e', script], {
    env: { ...process.env, MX_REGISTRY: `mx://${address}` },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  t.teardown(() => child.kill('SIGKILL'))
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  t.equal(code, 0)
  t.equal(output, `from ${process.pid}\n`)
})

t.test(
  'the tokens of the first open user are used, never the tokens of a closed one',
  async (t) => {
    const { address } = await openPlatformRegistry(t)
    const text = `mx://${address}`
    const requests: string[] = []
    const toTokens = (name: string) => ({
      current: () => {
        requests.push(name)
        return name
      },
      remainingMs: () => Number.POSITIVE_INFINITY,
      ready: () => undefined,
      isRejected: () => false,
    })
    const first = openRegistry(text, { tokens: toTokens('first') })
    const second = openRegistry(text, { tokens: toTokens('second') })
    await second.registry.getService('none')
    t.same(new Set(requests), new Set(['first']))
    await first.close()
    requests.length = 0
    await second.registry.getService('none')
    t.same(new Set(requests), new Set(['second']))
    await second.close()
  },
)
