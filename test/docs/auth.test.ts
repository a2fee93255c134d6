import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'
import { SKEW_S, TOKEN_LIFE_MAX_S } from '../../core/auth/token/access-token.ts'
import { ROOT } from '../../scripts/root.ts'
import { openPlatformAuth } from '../fixtures/platform-auth.ts'
import { openRegistry } from '../fixtures/sdk-services.ts'

const GUIDE = readFileSync(join(ROOT, 'docs/auth-endpoints.md'), 'utf8')

t.test('docs/auth-endpoints.md lists every endpoint and marks the streams', async (t) => {
  const registry = openRegistry(t)
  await openPlatformAuth(t, { registry })
  const [service] = await registry.getService('auth')
  const rows = [...GUIDE.matchAll(/^\| `(\w+\.\w+)`( \(stream\))? \|/gm)]
  t.strictSame(
    rows.map(([, name, stream]) => [name, stream !== undefined]).sort(),
    service!.endpoints.map(({ name, metadata }) => [name, metadata['stream'] === 'true']).sort(),
  )
})

t.test('docs/auth-endpoints.md lists every action of the audit log', async (t) => {
  const sources = [
    'auth-endpoints',
    'accounts/account-endpoints',
    'api-keys/api-key-endpoints',
    'request-quotas/quota-endpoints',
    'rules/rule-endpoints',
    'login-throttle',
  ].map((name) => readFileSync(join(ROOT, `services/auth/${name}.ts`), 'utf8'))
  const actions = sources.flatMap((text) =>
    text.match(/'(account|api-key|quota|rule|token|key|login)\.[a-z-]+'/g),
  )
  t.ok(actions.length >= 11)
  for (const action of actions) t.match(GUIDE, `\`${action!.slice(1, -1)}\``)
})

t.test('docs/auth.md states how long access tokens are accepted', async (t) => {
  const text = readFileSync(join(ROOT, 'docs/auth.md'), 'utf8').replaceAll(/\s+/g, ' ')
  t.match(text, `\`token_expiry\` seconds (1 to ${TOKEN_LIFE_MAX_S})`)
  t.match(text, `accepted for another ${SKEW_S} s`)
})
