import { once } from 'node:events'
import * as http from 'node:http'
import * as https from 'node:https'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import t from 'tap'
import { createAgent } from '../../../../../adapters/registry/consul/http/http-agent.ts'
import { waitUntil } from '../../../../contracts/registry.ts'
import { createCertificate, createCertificateFolder } from '../../../../fixtures/certificates.ts'
import { listen } from '../../../../fixtures/listen.ts'

t.test('reuses and limits connections', async (t) => {
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

t.test('reads TLS files at creation and names an invalid one', async (t) => {
  const folder = createCertificateFolder(t)
  const certificate = createCertificate(['localhost'])
  const { certFile, keyFile } = folder.write('a', certificate)
  const agent = createAgent({ secure: true, caFile: certFile, certFile, keyFile }, 1)
  t.ok(agent instanceof https.Agent)
  const { ca, cert, key } = (agent as https.Agent).options
  t.same(
    [String(ca), String(cert), String(key)],
    [certificate.cert, certificate.cert, certificate.key],
  )
  for (const description of ['ca', 'cert', 'key'])
    t.throws(() => createAgent({ secure: true, [`${description}File`]: '/none' }, 1), {
      message: `cannot read the ${description} file for Consul: ENOENT: no such file or directory, open '/none'`,
    })
  t.doesNotThrow(() => createAgent({ caFile: '/none' }, 1), 'not read without TLS')
})

t.test('reads all connections into one buffer without corrupting responses', async (t) => {
  const folder = createCertificateFolder(t)
  const certificate = createCertificate(['localhost'])
  const { certFile } = folder.write('a', certificate)
  const respond = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const piece = request.url!.slice(1).repeat(10_000)
    response.write(piece)
    setImmediate(() => response.end(piece))
  }
  const memories = new Set<ArrayBufferLike>()
  for (const secure of [false, true]) {
    const server = secure ? https.createServer(certificate, respond) : http.createServer(respond)
    const port = await listen(t, server)
    const agent = createAgent({ secure, caFile: certFile }, 3)
    t.teardown(() => agent.destroy())
    const sendRequest = async (path: string): Promise<void> => {
      const { get } = secure ? https : http
      const host = 'localhost'
      const request = get({ host, family: 4, port, agent, path: `/${path}` })
      request.on('socket', (socket: Socket) =>
        socket.on('data', ({ buffer }: Buffer) => memories.add(buffer)),
      )
      const [response] = (await once(request, 'response')) as [http.IncomingMessage]
      t.equal(await text(response), path.repeat(20_000))
    }
    await Promise.all(['abc', 'def', 'ghi', 'jkl', 'mno', 'pqr'].map(sendRequest))
  }
  t.equal(memories.size, 1)
})

t.test('closes a connection with an unsolicited response', async (t) => {
  let lost = 0
  let accepted: Socket | undefined
  const server = http.createServer((request, response) => {
    accepted = request.socket
    response.end(request.url)
  })
  const port = await listen(t, server)
  const agent = createAgent({}, 1, () => lost++)
  t.teardown(() => agent.destroy())
  const sendRequest = async (path: string): Promise<string> => {
    const request = http.get({ host: '127.0.0.1', port, agent, path })
    const [response] = (await once(request, 'response')) as [http.IncomingMessage]
    return text(response)
  }
  const freed = once(agent, 'free')
  t.equal(await sendRequest('/first'), '/first')
  await freed
  accepted!.write('HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n')
  await waitUntil(() => lost === 1)
  t.equal(await sendRequest('/second'), '/second')
})

t.test('an aborted request on a keep-alive connection reports no lost connection', async (t) => {
  let lost = 0
  const server = http.createServer((request, response) => {
    if (request.url === '/first') response.end()
  })
  const port = await listen(t, server)
  const agent = createAgent({}, 1, () => lost++)
  t.teardown(() => agent.destroy())
  const get = (path: string) => http.get({ host: '127.0.0.1', port, agent, path })
  const freed = once(agent, 'free')
  const [response] = (await once(get('/first'), 'response')) as [http.IncomingMessage]
  response.resume()
  const [socket] = (await freed) as [Socket]
  const aborted = get('/second')
  await once(server, 'request')
  const closed = once(socket, 'close')
  aborted.on('error', () => {}).destroy()
  await closed
  t.equal(lost, 0)
})
