import t from 'tap'
import type { Exchange } from '../../../../core/exchange.ts'
import { HeaderList } from '../../../../core/http/headers.ts'
import { toRoute } from '../../../../core/route.ts'
import { checkNavigation } from '../../../../core/rpc/http/navigation.ts'

const NAVIGATION = ['sec-fetch-mode', 'navigate']

function check(
  service: string,
  endpoint: string,
  metadata: Record<string, string> | undefined,
  fields: readonly string[] = NAVIGATION,
): void {
  const x = { headers: new HeaderList(fields), route: toRoute(service, endpoint) }
  const value = { name: '', type: '', values: [] }
  const declared = metadata && { name: endpoint, request: value, response: value, metadata }
  checkNavigation(x as unknown as Exchange, declared)
}

t.test('rejects browser navigation to built-in endpoints that are not read-only', async (t) => {
  for (const metadata of [{}, { readOnly: 'false' }, { idempotent: 'true' }, undefined])
    t.throws(() => check('config', 'Config.Set', metadata), {
      id: 'config',
      code: 403,
      message: /^config\.Config\.Set changes state and cannot be called by browser navigation/,
    })
})

t.test(
  'allows read-only endpoints, Debug.Health, user services and other fetch modes',
  async (t) => {
    for (const args of [
      ['config', 'Config.Get', { readOnly: 'true' }],
      ['config', 'Debug.Health', undefined],
      ['greeter', 'Greeter.Hello', {}],
      ['go.mx.api.config', 'Config.Set', {}],
      ...['cors', 'no-cors', 'same-origin', 'websocket'].map(
        (mode) => ['config', 'Config.Set', {}, ['sec-fetch-mode', mode]] as const,
      ),
      ['config', 'Config.Set', {}, []],
    ] as Parameters<typeof check>[])
      t.doesNotThrow(() => check(...args), args.join())
  },
)
