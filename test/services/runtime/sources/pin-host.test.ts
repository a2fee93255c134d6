import t from 'tap'
import { pinHost } from '../../../../services/runtime/sources/pin-host.ts'
import { openEgress } from '../../../fixtures/egress.ts'
import { setEnv } from '../../../fixtures/set-env.ts'

const egress = openEgress({
  async resolve(host) {
    if (host === 'far.test') throw new Error('getaddrinfo ENOTFOUND far.test')
    return host === 'git.test' ? ['192.0.2.7', '2001:db8::7'] : ['127.0.0.1']
  },
})

t.test('pins git to the checked addresses', async (t) => {
  t.equal(await pinHost('https://192.0.2.7/a', egress), '192.0.2.7:443:192.0.2.7')
  t.equal(await pinHost('https://10.0.0.7:8443/a', egress), '10.0.0.7:8443:10.0.0.7')
  t.equal(await pinHost('https://git.test/a', egress), 'git.test:443:192.0.2.7,[2001:db8::7]')
})

t.test('rejects a repository of the server itself in every address format of git', async (t) => {
  const hosts = ['127.0.0.1', '127.1', '2130706433', '0x7f.1', '0177.0.0.1', 'local.test']
  for (const host of [...hosts, '0.0.0.0', '169.254.169.254', '[::1]', '[::ffff:127.0.0.1]'])
    await t.rejects(
      pinHost(`https://${host}/a`, egress),
      {
        id: 'runtime',
        code: 403,
        message: /^repository address .* is denied .*egress_allow|No setting/,
      },
      host,
    )
})

t.test('resolves names through a proxy and still rejects denied addresses', async (t) => {
  setEnv(t, { https_proxy: 'http://192.0.2.1:3128' })
  t.equal(await pinHost('https://far.test/a', egress), undefined)
  t.equal(await pinHost('https://192.0.2.7/a', egress), '192.0.2.7:443:192.0.2.7')
  for (const host of ['local.test', '127.0.0.1'])
    await t.rejects(pinHost(`https://${host}/a`, egress), { code: 403 }, host)
})

t.test('rejects an unresolvable name without a proxy', async (t) => {
  setEnv(t, { https_proxy: undefined, HTTPS_PROXY: undefined })
  await t.rejects(pinHost('https://far.test/a', egress), { code: 400 })
})
