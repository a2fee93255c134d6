import * as https from 'node:https'
import t from 'tap'
import { createAgent } from '../../../../adapters/registry/consul/http-agent.ts'
import { createCertificate, createCertificateFolder } from '../../../fixtures/certificates.ts'

t.test('connections are kept and bounded', async (t) => {
  const agent = createAgent({}, 7)
  t.match(agent, {
    maxSockets: 7,
    maxFreeSockets: 7,
    options: { keepAlive: true, keepAliveMsecs: 10_000 },
  })
  t.notOk(agent instanceof https.Agent)
  t.notOk('host' in (agent as https.Agent).options)
  t.equal((createAgent({ host: '::1' }, 1) as https.Agent).options.host, '::1', 'without brackets')
})

t.test('with TLS the files are read when it is made, and a wrong one is named', async (t) => {
  const folder = createCertificateFolder()
  t.teardown(folder.remove)
  const certificate = createCertificate(['localhost'])
  const { certFile, keyFile } = folder.write('a', certificate)
  const agent = createAgent({ secure: true, caFile: certFile, certFile, keyFile }, 1)
  t.ok(agent instanceof https.Agent)
  const { ca, cert, key } = (agent as https.Agent).options
  t.same(
    [String(ca), String(cert), String(key)],
    [certificate.cert, certificate.cert, certificate.key],
  )
  for (const what of ['ca', 'cert', 'key'])
    t.throws(() => createAgent({ secure: true, [`${what}File`]: '/none' }, 1), {
      message: `cannot read the ${what} file for Consul: ENOENT: no such file or directory, open '/none'`,
    })
  t.doesNotThrow(() => createAgent({ caFile: '/none' }, 1), 'not read where they mean nothing')
})
