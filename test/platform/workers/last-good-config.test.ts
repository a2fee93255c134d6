import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import type { PeerCertificate, TLSSocket } from 'node:tls'
import t from 'tap'
import { createCertificate, createCertificateFolder } from '../../fixtures/certificates.ts'
import { eventually } from '../../fixtures/eventually.ts'
import { listenHttp } from '../../fixtures/listen.ts'
import { type RunningMx, startMx } from '../../fixtures/mx.ts'

/** Response at `/greeter`, and the name in the certificate. */
async function sendRequest(url: string): Promise<{ text: string; name: string }> {
  const request = get(`${url}/greeter`, { agent: false, rejectUnauthorized: false })
  const [response] = await once(request, 'response')
  const { subject } = (response.socket as TLSSocket).getPeerCertificate() as PeerCertificate
  let text = ''
  for await (const chunk of response) text += chunk
  return { text, name: String(subject.CN) }
}

function getWorker({ child }: RunningMx): number | undefined {
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, 'utf8').trim()
  return children
    .split(' ')
    .map(Number)
    .find((pid) => readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('/cli/'))
}

t.test(
  'a worker restarts with the last good configuration while the files are invalid',
  async (t) => {
    const port = await listenHttp(t, (_request, response) => response.end('hello'))
    const folder = createCertificateFolder(t)
    const { certFile, keyFile } = folder.write('site', createCertificate(['first.test']))
    const services = `services:\n  greeter: [127.0.0.1:${port}]\n`
    const cwd = t.testdir({ 'mx.yaml': services })
    const file = join(cwd, 'mx.yaml')
    const args = ['api', '--handler=proxy', '--address=127.0.0.1:0', '--hot_restart']
    const tls = [`--enable_tls`, `--tls_cert_file=${certFile}`, `--tls_key_file=${keyFile}`]
    const mx = startMx([...args, ...tls], { cwd })
    t.teardown(async () => {
      mx.child.kill('SIGTERM')
      await mx.ended
    })
    const url = await mx.url()
    const first = { text: 'hello', name: 'first.test' }
    t.same(await sendRequest(url), first)

    writeFileSync(file, 'handler: nonesuch\n')
    writeFileSync(certFile, 'no certificate')
    await mx.waitUntil(/configuration rejected/)
    await mx.waitUntil(/contains no PEM certificate.*the previous certificates stay in use/)
    const before = getWorker(mx)
    process.kill(before!, 'SIGKILL')
    await mx.waitUntil(/worker exited; restarting/)
    await eventually(
      async () => (await sendRequest(url).catch(() => undefined))?.name === first.name,
    )
    t.same(await sendRequest(url), first)
    t.not(getWorker(mx), before)
    t.match(
      mx.output.stderr,
      /worker exited.*configuration rejected/s,
      'the new worker also logs it',
    )

    folder.write('site', createCertificate(['second.test']))
    await eventually(async () => (await sendRequest(url)).name === 'second.test')
    writeFileSync(
      join(cwd, 'stop.mjs'),
      `export default { onRequest: (x) => x.reply(200, 'stop') }\n`,
    )
    writeFileSync(file, `${services}plugins: [namespace, ./stop.mjs]\n`)
    await eventually(async () => (await sendRequest(url)).text === 'stop')
  },
)
