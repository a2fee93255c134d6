// Specification, "Gateway, handler-based mode": Namespace; Server API gateway: Mx-Namespace.
import t, { type Test } from 'tap'
import { openApi } from '../fixtures/api.ts'
import { createGreeter } from '../fixtures/greeter.ts'
import { startMx } from '../fixtures/mx.ts'
import { type MxService, openMxService } from '../fixtures/mx-service.ts'

/** A service that returns the name it was called by. */
function openNameService(
  t: Test,
  toAnswer: (service: string) => object = (service) => ({ service }),
): Promise<MxService> {
  return openMxService(t, createGreeter(), {
    intercept: (call) => {
      call.reply('', JSON.stringify(toAnswer(call.service)))
      return true
    },
  })
}

async function open(
  t: Test,
  names: readonly string[],
  env: Record<string, string>,
): Promise<string> {
  const isApi = env['MX_HANDLER'] === 'api'
  const { port } = await openNameService(t, isApi ? (service) => ({ body: service }) : undefined)
  const api = await openApi(t, {
    MX_ACCESS_LOG: 'off',
    MX_BACKEND: names.map((name) => `${name}=mx://127.0.0.1:${port}`).join(' '),
    ...env,
  })
  return `http://127.0.0.1:${api.port}`
}

for (const listener of ['uws', 'node']) {
  const MX_LISTENER = listener

  t.test(
    `${listener}: Default namespace go.mx.api; set with --namespace or MX_NAMESPACE=<ns>.`,
    async (t) => {
      const names = ['go.mx.api.greeter', 'my.own.greeter']
      const withDefault = await open(t, names, { MX_LISTENER })
      t.strictSame(await (await fetch(`${withDefault}/greeter/hello`)).json(), {
        service: 'go.mx.api.greeter',
      })
      const custom = await open(t, names, { MX_LISTENER, MX_NAMESPACE: 'my.own' })
      t.strictSame(await (await fetch(`${custom}/greeter/hello`)).json(), {
        service: 'my.own.greeter',
      })
    },
  )

  t.test(
    `${listener}: The service name is the namespace joined to the path-derived service part with a dot: GET /<a> resolves under <ns>.<a>.`,
    async (t) => {
      const names = ['go.mx.api.greeter', 'go.mx.api.shop.greeter']
      for (const handler of ['rpc', 'api']) {
        const origin = await open(t, names, { MX_LISTENER, MX_HANDLER: handler })
        const readStatus = async (path: string): Promise<unknown> =>
          (await fetch(origin + path)).status
        t.equal(await readStatus('/greeter'), 200, handler)
        t.equal(await readStatus('/shop/greeter/say/hello'), 200, handler)
        t.equal(await readStatus('/go.mx.api.greeter'), 404, 'no other names resolve')
      }
      const origin = await open(t, names, { MX_LISTENER })
      t.strictSame(await (await fetch(`${origin}/greeter`)).json(), {
        service: 'go.mx.api.greeter',
      })
      const missing = await fetch(`${origin}/unknown`)
      t.match(await missing.json(), {
        Id: 'go.mx.api.unknown',
        Detail: 'service not found: go.mx.api.unknown',
      })
    },
  )

  t.test(`${listener}: Setting the namespace to a single blank space disables it.`, async (t) => {
    const origin = await open(t, ['greeter', 'v1.greeter'], { MX_LISTENER, MX_NAMESPACE: ' ' })
    t.strictSame(await (await fetch(`${origin}/greeter/hello`)).json(), { service: 'greeter' })
    t.strictSame(await (await fetch(`${origin}/v1/greeter/hello`)).json(), {
      service: 'v1.greeter',
    })
  })
}

t.test('--namespace takes precedence over MX_NAMESPACE and may be a single blank', async (t) => {
  const { port } = await openNameService(t)
  const cwd = t.testdir({})
  const sendRequest = async (flag: string): Promise<unknown> => {
    const args = ['api', '--address=127.0.0.1:0', '--access_log=off', flag]
    for (const name of ['flag.greeter', 'greeter', 'variable.greeter']) {
      args.push(`--backend=${name}=mx://127.0.0.1:${port}`)
    }
    const mx = startMx(args, { cwd, env: { MX_NAMESPACE: 'variable' } })
    t.teardown(() => mx.child.kill('SIGKILL'))
    const response = await (await fetch(`${await mx.url()}/greeter/hello`)).json()
    mx.child.kill('SIGTERM')
    await mx.ended
    return response
  }
  t.strictSame(await sendRequest('--namespace=flag'), { service: 'flag.greeter' })
  t.strictSame(await sendRequest('--namespace= '), { service: 'greeter' })
  t.strictSame(await sendRequest('--log_level=info'), { service: 'variable.greeter' })
})
