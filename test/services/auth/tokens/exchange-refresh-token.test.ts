import t from 'tap'
import { createContext } from '../../../../sdk/context.ts'
import { badRequest } from '../../../../sdk/errors.ts'
import type { FamilyRecord } from '../../../../services/auth/records.ts'
import { createExchangeRefreshToken } from '../../../../services/auth/tokens/exchange-refresh-token.ts'

const INPUT = { namespace: 'acme', token: 'x', lifeS: 60 }

t.test('reports each reuse, but rarely reports unknown tokens', async (t) => {
  const events: unknown[] = []
  let response: ['reused' | 'unknown', { namespace: string; account: string } | undefined]
  const attempt = createExchangeRefreshToken({
    tokens: {
      async refresh(_token, { errorId }, onWrong) {
        onWrong(response[0], response[1] as FamilyRecord | undefined)
        throw badRequest(errorId, 'wrong')
      },
    },
    audit: (_ctx, action, name) => void events.push([action, name]),
    nowMs: () => 0,
  })
  const refreshFrom = async (address: string) => {
    const ctx = createContext({ endpoint: 'Auth.Token', metadata: { 'mx-address': address } })
    await t.rejects(
      attempt(ctx, INPUT, () => {}),
      { code: 400, id: 'auth.Auth.Token' },
    )
  }
  response = ['reused', { namespace: 'mx', account: 'jane' }]
  for (let i = 0; i < 2; i++) await refreshFrom('2001:db8::1')
  const reused = ['token.reused', { namespace: 'mx', target: 'jane' }]
  t.same(events, [reused, reused])
  response = ['unknown', undefined]
  for (const address of ['2001:db8::1', '2001:db8::2', '2001:db8:0:1::1'])
    await refreshFrom(address)
  const unknown = ['refresh.failed', { namespace: 'acme', target: '' }]
  t.same(events.slice(2), [unknown, unknown], 'from two networks')
})
