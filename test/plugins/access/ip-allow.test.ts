import t from 'tap'
import plugin from '../../../plugins/access/ip-allow.ts'
import forwarded from '../../../plugins/http/forwarded.ts'
import { buildPlugin, runPlugin } from '../../../sdk/testing.ts'

t.test('allows clients of listed networks, and responds to others with 403', async (t) => {
  const inside = buildPlugin(plugin, { allow: ['127.0.0.0/8'] })
  t.equal((await runPlugin(inside)).status, 200)
  const outside = buildPlugin(plugin, { allow: ['10.0.0.0/8'] })
  const { status, body, forwarded } = await runPlugin(outside)
  t.equal(status, 403)
  t.equal(JSON.parse(body).Detail, 'client "127.0.0.1" is not allowed')
  t.notOk(forwarded)
})

t.test('behind a trusted proxy, the reported client is checked', async (t) => {
  const chain = [
    buildPlugin(forwarded, { trusted: ['127.0.0.1'] }),
    buildPlugin(plugin, { allow: ['192.0.2.0/24'] }),
  ]
  const from = async (address: string): Promise<number> =>
    (await runPlugin(chain, { headers: { 'x-forwarded-for': address } })).status
  t.equal(await from('192.0.2.7'), 200)
  t.equal(await from('198.51.100.1'), 403)
})

t.test('rejects an empty or malformed list', async (t) => {
  t.throws(() => buildPlugin(plugin, { allow: [] }), /allow/)
  t.throws(() => buildPlugin(plugin, { allow: ['10.0.0.0/99'] }), /10\.0\.0\.0\/99/)
})
