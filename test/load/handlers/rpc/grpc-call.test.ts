import { once } from 'node:events'
import { join } from 'node:path'
import { type Client, Code, ConnectError, createClient, type Transport } from '@connectrpc/connect'
import * as node from '@connectrpc/connect-node'
import * as web from '@connectrpc/connect-web'
import * as grpc from '@grpc/grpc-js'
import t, { type Test } from 'tap'
import { createNodeListener } from '../../../../core/listener/node/listener.ts'
import { createUwsListener, loadUws } from '../../../../core/listener/uws/listener.ts'
import { ROOT } from '../../../../scripts/root.ts'
import { loadProto } from '../../../../sdk/codec/protobuf.ts'
import { ServiceError } from '../../../../sdk/errors.ts'
import { endpoint } from '../../../../sdk/service/endpoint.ts'
import { createGreeter } from '../../../fixtures/greeter.ts'
import {
  collect,
  describeService,
  type Greeting,
  GrpcClient,
  getStatus,
  type Hello,
} from '../../../fixtures/grpc.ts'
import { type MxForm, openMxService } from '../../../fixtures/mx-service.ts'
import { waitUntil } from '../../../fixtures/raw-backend.ts'
import { openRpcGateway, type RpcGateway } from '../../../fixtures/rpc-gateway.ts'

const { status: STATUS } = grpc
const NAME = 'greeter.Greeter'
const METHODS = {
  Proto: 'unary',
  Hello: 'unary',
  Refuse: 'unary',
  Wait: 'unary',
  None: 'unary',
  Context: 'unary',
  List: 'server',
  Flood: 'server',
  Gather: 'client',
  Talk: 'both',
  Chat: 'both',
} as const

const proto = await loadProto(join(ROOT, 'test/fixtures/proto/helloworld.proto'))
const request = proto.message<Hello>('helloworld.Request')
const response = proto.message<Greeting>('helloworld.Response')

/** Outcomes of the streams of a service. */
interface Received {
  yieldedCount: number
  closed: number
}

function createHandlers(counts: Received) {
  const { Greeter } = createGreeter()
  return {
    Greeter: {
      ...Greeter,
      refuse: endpoint({
        request,
        response,
        handle({ name }) {
          throw new ServiceError('greeter', Number(name), '100 % Jörg', {
            headers: ['retry-after', '7'],
          })
        },
      }),
      wait: endpoint({
        request,
        response,
        async handle(_request, { signal }) {
          if (!signal.aborted) await once(signal, 'abort')
          return { message: 'late' }
        },
      }),
      list: endpoint({
        request,
        response,
        stream: 'server',
        *handle({ name }) {
          for (let n = 1; n <= 3; n++) yield { message: `${name} ${n}` }
          if (name === 'bad') throw new ServiceError('greeter', 409, 'no more')
        },
      }),
      flood: endpoint({
        request,
        response,
        stream: 'server',
        *handle({ name }) {
          try {
            for (;;) {
              counts.yieldedCount++
              yield { message: 'x'.repeat(Number(name)) }
            }
          } finally {
            counts.closed++
          }
        },
      }),
      gather: endpoint({
        request,
        response,
        stream: 'client',
        async handle(requests) {
          const lengths: number[] = []
          for await (const { name } of requests) lengths.push(name.length)
          return { message: lengths.join() }
        },
      }),
    },
  }
}

async function open(
  t: Test,
  { form = 'mx' as MxForm, declares = true, listener = createNodeListener } = {},
): Promise<{ gateway: RpcGateway; counts: Received }> {
  const counts = { yieldedCount: 0, closed: 0 }
  const service = await openMxService(t, createHandlers(counts), { protocol: form, declares })
  const gateway = await openRpcGateway(t, [service.entry], {
    listener,
    listening: { http2: 'cleartext' },
  })
  return { gateway, counts }
}

t.test('gRPC: supports all kinds of calls, and errors', async (t) => {
  for (const [form, declares] of [
    ['mx', true],
    ['mx', false],
    ['local', true],
    ['proxied', true],
  ] as const) {
    t.test(`${form}, ${declares ? 'declared' : 'not declared'}`, async (t) => {
      const { gateway } = await open(t, { form, declares })
      const client = new GrpcClient(t, gateway.port, NAME, METHODS)
      const { message, status } = await client.call('Proto', 'Ann')
      t.strictSame([message, status.code], ['Hello Ann', STATUS.OK])
      t.equal((await client.call('Proto', '')).message, '', 'a message without fields')
      const list = await collect(client.stream('List', 'a'))
      t.strictSame(list.messages, ['a 1', 'a 2', 'a 3'])
      t.equal(list.status.code, STATUS.OK)
      const broken = await collect(client.stream('List', 'bad'))
      t.strictSame(broken.messages.length, 3)
      t.strictSame([broken.status.code, broken.status.details], [STATUS.ALREADY_EXISTS, 'no more'])
      const result = new Promise<Greeting | undefined>((resolve) => {
        const call = client.upload('Gather', (_error, reply) => resolve(reply))
        for (const length of [1, 3_000_000, 0]) call.write({ name: 'x'.repeat(length) })
        call.end()
      })
      t.strictSame(await result, { message: '1,3000000,0' })
      const talkStream = client.stream('Talk')
      for (const name of ['Ann', 'Bob']) {
        talkStream.write({ name })
        t.strictSame((await once(talkStream, 'data'))[0], { message: `Hello ${name}` })
      }
      talkStream.end()
      t.equal((await getStatus(talkStream)).code, STATUS.OK)
      for (const [code, expected] of [
        [400, STATUS.INVALID_ARGUMENT],
        [401, STATUS.UNAUTHENTICATED],
        [429, STATUS.RESOURCE_EXHAUSTED],
        [503, STATUS.UNAVAILABLE],
      ] as const) {
        const { status } = await client.call('Refuse', `${code}`)
        t.strictSame([status.code, status.details], [expected, '100 % Jörg'])
        t.strictSame(status.metadata.get('retry-after'), ['7'])
      }
      const unknown = await client.call('None', 'a')
      t.equal(unknown.status.code, STATUS.NOT_FOUND, unknown.status.details)
      const withoutProtobuf = await client.call('Hello', 'a')
      t.equal(withoutProtobuf.status.code, STATUS.INVALID_ARGUMENT, 'an endpoint without protobuf')
      t.match(withoutProtobuf.status.details, /Greeter\.Hello accepts application\/json/)
    })
  }
})

t.test('gRPC: supports deadlines, cancellation and slow readers', async (t) => {
  const { gateway, counts } = await open(t)
  const client = new GrpcClient(t, gateway.port, NAME, METHODS)
  const timedOut = await client.call('Wait', 'a', { options: { deadline: Date.now() + 150 } })
  t.equal(timedOut.status.code, STATUS.DEADLINE_EXCEEDED)
  const flood = client.stream('Flood', '100000')
  flood.on('error', () => {})
  await once(flood, 'data')
  flood.pause()
  let before = -1
  await waitUntil(() => {
    const isStalled = counts.yieldedCount === before
    before = counts.yieldedCount
    return isStalled
  })
  t.ok(
    counts.yieldedCount < 200,
    `at most the flow control windows: ${counts.yieldedCount} messages of 100 kB`,
  )
  flood.resume()
  const stopped = counts.yieldedCount
  await waitUntil(() => counts.yieldedCount > stopped + 50)
  flood.cancel()
  await waitUntil(() => counts.closed === 1)
  await waitUntil(() => gateway.gateway.inFlight === 0)
})

t.test('gRPC: rejects malformed messages', async (t) => {
  const { gateway } = await open(t)
  const client = node.createGrpcTransport({ baseUrl: gateway.origin, useBinaryFormat: false })
  const greeter = createClient(describeService(NAME, METHODS), client) as Greeter
  t.match(await greeter['hello']!({ name: 'Ann' }), { message: 'Hello Ann' }, 'in JSON')
  const rows: [string, Uint8Array, number][] = [
    ['compressed', Buffer.from([1, 0, 0, 0, 0]), STATUS.UNIMPLEMENTED],
    ['cut off', Buffer.from([0, 0, 0, 0, 9, 1]), STATUS.INVALID_ARGUMENT],
    ['none', Buffer.alloc(0), STATUS.INVALID_ARGUMENT],
    ['two', Buffer.alloc(10), STATUS.INVALID_ARGUMENT],
    ['too long', Buffer.from([0, 255, 0, 0, 0]), STATUS.RESOURCE_EXHAUSTED],
    ['no protobuf', Buffer.from([0, 0, 0, 0, 1, 255]), STATUS.INVALID_ARGUMENT],
  ]
  for (const [description, body, code] of rows) {
    const reply = await fetch(`${gateway.origin}/${NAME}/Proto`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web+proto' },
      body: new Uint8Array(body),
    })
    t.equal(reply.status, 200)
    t.match(await reply.text(), new RegExp(`^[^]{5}grpc-status: ${code}\r\n`), description)
  }
})

/** A client of any transport, with methods in lower camel case. */
type Greeter = Record<string, (request: unknown) => Promise<Greeting>> & Client<never>
type Streaming = Record<string, (request: unknown) => AsyncIterable<Greeting>>

const listeners = {
  node: createNodeListener,
  // Not every version of Node.js has a binary for every C library.
  ...(loadUws() !== undefined && { uws: createUwsListener }),
}
for (const [name, listener] of Object.entries(listeners)) {
  t.test(`on ${name}: supports gRPC-Web and Connect with fetch`, async (t) => {
    const { gateway } = await open(t, { listener })
    const options = { baseUrl: gateway.origin }
    const transports: [string, Transport, 'proto' | 'hello'][] = [
      ['gRPC-Web', web.createGrpcWebTransport(options), 'proto'],
      [
        'gRPC-Web, JSON',
        web.createGrpcWebTransport({ ...options, useBinaryFormat: false }),
        'hello',
      ],
      ['Connect', web.createConnectTransport(options), 'hello'],
      [
        'Connect, proto',
        web.createConnectTransport({ ...options, useBinaryFormat: true }),
        'proto',
      ],
    ]
    for (const [description, transport, method] of transports) {
      const client = createClient(describeService(NAME, METHODS), transport) as Greeter
      t.match(await client[method]!({ name: 'Ann' }), { message: 'Hello Ann' }, description)
      const isBinary = method === 'proto'
      if (isBinary)
        t.match(await client[method]!({ name: '' }), { message: '' }, `${description}: empty`)
      const error = await client['none']!({ name: 'a' }).then(
        () => undefined,
        (error: unknown) => ConnectError.from(error),
      )
      t.equal(error?.code, Code.NotFound, description)
      t.match(error?.rawMessage, /^endpoint not found: /, description)
      const timedOut = await (client as unknown as WithOptions)['wait']!(
        {},
        { timeoutMs: 100 },
      ).catch((error: unknown) => ConnectError.from(error).code)
      t.equal(timedOut, Code.DeadlineExceeded, description)
      if (!isBinary) continue
      const messages = []
      const streaming = client as unknown as Streaming
      for await (const { message } of streaming['list']!({ name: 'a' })) messages.push(message)
      t.strictSame(messages, ['a 1', 'a 2', 'a 3'], description)
      const broken = (async () => {
        for await (const _ of streaming['list']!({ name: 'bad' }));
      })()
      await t.rejects(broken, { code: Code.AlreadyExists, rawMessage: 'no more' }, description)
    }
  })

  t.test(`on ${name}: supports gRPC-Web text`, async (t) => {
    const { gateway } = await open(t, { listener })
    const message = Buffer.from('0000000005 0a03416e6e'.replace(' ', ''), 'hex').toString('base64')
    const reply = await fetch(`${gateway.origin}/${NAME}/List`, {
      method: 'POST',
      headers: { 'content-type': 'application/grpc-web-text', accept: 'application/grpc-web-text' },
      body: message,
    })
    t.equal(reply.headers.get('content-type'), 'application/grpc-web-text')
    const pieces = (await reply.text()).match(/[^=]+={0,2}/g)!
    const text = Buffer.concat(pieces.map((piece) => Buffer.from(piece, 'base64'))).toString(
      'latin1',
    )
    t.match(text, /Ann 1[\s\S]*Ann 2[\s\S]*Ann 3[\s\S]*grpc-status: 0\r\n$/)
  })
}

type WithOptions = Record<string, (request: unknown, options: object) => Promise<Greeting>>

t.test('Connect over HTTP/2 supports bidirectional streams', async (t) => {
  const { gateway } = await open(t)
  const options = { baseUrl: gateway.origin, httpVersion: '2' as const }
  for (const [description, transport] of [
    ['Connect', node.createConnectTransport(options)],
    ['gRPC', node.createGrpcTransport(options)],
  ] as const) {
    const client = createClient(describeService(NAME, METHODS), transport) as unknown as Streaming
    const names = (async function* () {
      yield { name: 'Ann' }
      yield { name: 'Bob' }
    })()
    const messages = []
    for await (const { message } of client['talk']!(names)) messages.push(message)
    t.strictSame(messages, ['Hello Ann', 'Hello Bob'], description)
  }
})
