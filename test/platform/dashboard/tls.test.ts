import { request } from 'node:https'
import t from 'tap'
import { configurationFrom } from '../../../platform/config/load.ts'
import { createLog } from '../../../platform/process/log.ts'
import { startServer } from '../../../platform/server/server.ts'
import { readFlags } from '../../../platform/settings/flags.ts'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { ADMIN, QUIET_FLAGS } from '../../fixtures/server.ts'

t.test('with enable_tls the dashboard uses TLS and a secure cookie', async (t) => {
  const folder = createCertificateFolder(t)
  const { certFile, keyFile } = folder.write('site', createCertificate(['localhost']))
  const tls = ['--enable_tls', `--tls_cert_file=${certFile}`, `--tls_key_file=${keyFile}`]
  const flags = readFlags([...QUIET_FLAGS, ...tls], 'server')
  const configuration = await configurationFrom(flags, { MX_PROFILE: 'test' }, 'server')()
  const server = await startServer({ configuration, log: createLog('silent') })
  t.teardown(server.close)

  const { port } = server.webAddress
  const reply = await new Promise<{ status: number; cookie: string }>((resolve, reject) => {
    const sent = request(
      {
        ...{ host: '127.0.0.1', port, path: '/login', method: 'POST', agent: false },
        rejectUnauthorized: false,
        headers: { 'content-type': 'application/json', origin: `https://127.0.0.1:${port}` },
      },
      (response) => {
        response.resume()
        const [cookie = ''] = response.headers['set-cookie'] ?? []
        resolve({ status: response.statusCode ?? 0, cookie })
      },
    )
    sent.on('error', reject).end(JSON.stringify(ADMIN))
  })
  t.equal(reply.status, 200)
  t.match(
    reply.cookie,
    /^__Host-mx-dashboard=[\w-]{43}; Path=\/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure$/,
  )
  await t.rejects(fetch(`http://127.0.0.1:${port}/`), 'no other cookie is set')
})
