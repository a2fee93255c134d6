import t, { type Test } from 'tap'
import type { Plugin } from '../../../core/chain.ts'
import { GatewayError } from '../../../core/errors.ts'
import { HeaderList } from '../../../core/http/headers.ts'
import { compileChain } from '../../../core/plugin/compile-chain.ts'
import type { ResponseAction } from '../../../core/reply/complete-response.ts'
import { createTestExchange, type TestExchange, type TestRequest } from '../../../sdk/testing.ts'

interface Begun {
  readonly x: TestExchange
  readonly faults: unknown[]
}

function begin(t: Test, plugins: readonly Plugin[], request: TestRequest = {}): Begun {
  const x = createTestExchange(request)
  const faults: unknown[] = []
  const chain = compileChain(
    plugins,
    () => {},
    () => {},
  )
  x.begin(
    chain,
    () => {},
    (error, _x, stage) => faults.push(error, stage),
  )
  t.teardown(() => x.disconnect())
  return { x, faults }
}

interface Observed {
  readonly plugin: Plugin
  /** Chunks, and the result. */
  readonly events: (string | boolean)[]
}

function observe(name = 'observer'): Observed {
  const events: (string | boolean)[] = []
  const observer: ResponseAction = {
    onChunk: (chunk) => events.push(Buffer.from(chunk).toString()),
    onEnd: (isComplete) => events.push(isComplete),
  }
  return { plugin: { name, onResponse: () => observer }, events }
}

const upper: Plugin = {
  name: 'upper',
  onReplyBody: (x) => {
    x.replyHeaders.set('x-upper', '1')
    return { maxBytes: 100, change: (body) => body.toString().toUpperCase() }
  },
}

t.test('an observer receives the original response, complete or streamed', (t) => {
  for (const plugins of [[], [upper]]) {
    const { plugin, events } = observe()
    const { x } = begin(t, [...plugins, plugin])
    x.send(200, new HeaderList(), 'text')
    t.strictSame(events, ['text', true])
    const streamed = observe()
    const { x: y } = begin(t, [...plugins, streamed.plugin])
    y.start(200, new HeaderList(), -1)
    y.write(Buffer.from('a'))
    y.write(Buffer.from('b'))
    y.end()
    t.strictSame(streamed.events, ['a', 'b', true])
    t.equal(y.body, plugins.length > 0 ? 'AB' : 'ab')
  }
  t.end()
})

t.test('onResponse hooks run before other plugins change the response', (t) => {
  let headers: string[] = []
  const plugin: Plugin = {
    name: 'reader',
    onResponse(x, length) {
      headers = [...x.replyHeaders.flat, String(x.status), String(length)]
      return undefined
    },
  }
  const { x } = begin(t, [upper, plugin])
  x.send(201, new HeaderList(['x-a', '1']), 'text')
  t.strictSame(headers, ['x-a', '1', '201', '4'])
  t.equal(x.body, 'TEXT')
  t.end()
})

t.test('an observer is notified once of an incomplete response', (t) => {
  for (const stop of [
    (x: TestExchange) => x.disconnect(),
    (x: TestExchange) => x.abortWith(new GatewayError('', 502, 'failed')),
  ]) {
    const { plugin, events } = observe()
    const { x } = begin(t, [plugin])
    x.start(200, new HeaderList(), -1)
    x.write(Buffer.from('a'))
    stop(x)
    t.strictSame(events, ['a', false])
  }
  t.end()
})

t.test('a bodyless response is complete with its head', (t) => {
  const { plugin, events } = observe()
  const { x } = begin(t, [plugin])
  x.start(204, new HeaderList(), -1)
  t.strictSame(events, [true])
  t.end()
})

t.test('a hook replaces a response before anything is sent, and cancels the backend', (t) => {
  const plugin: Plugin = {
    name: 'replacer',
    onResponse: ({ status }) =>
      status === 503
        ? { status: 200, headers: new HeaderList(['x-new', '1']), body: 'stored' }
        : undefined,
  }
  for (const send of [
    (x: TestExchange) => x.send(503, new HeaderList(['x-old', '1']), 'error'),
    (x: TestExchange) => x.start(503, new HeaderList(['x-old', '1']), -1),
  ]) {
    const { plugin: observer, events } = observe()
    const { x } = begin(t, [plugin, observer, upper])
    let isCanceled = false
    x.setPeer({
      onRequestBody: () => {},
      onDrain: () => {},
      onAbort: () => {
        isCanceled = true
      },
    })
    send(x)
    x.write(Buffer.from('rest'))
    x.end()
    t.strictSame([x.status, x.body, x.replyHeaders.get('x-new')], [200, 'STORED', '1'])
    t.notOk(x.replyHeaders.has('x-old'))
    t.strictSame(events, ['stored', true], 'later hooks observe the new response')
    t.equal(isCanceled, x.announcedLength !== undefined || isCanceled)
  }
  t.end()
})

t.test('a replaced response is incomplete for earlier observers', (t) => {
  const { plugin, events } = observe()
  const replacer: Plugin = {
    name: 'replacer',
    onResponse: () => ({ status: 200, headers: new HeaderList(), body: 'new' }),
  }
  const { x } = begin(t, [plugin, replacer])
  x.send(500, new HeaderList(), 'old')
  t.strictSame(events, [false])
  t.equal(x.body, 'new')
  t.end()
})

t.test('several observers receive the response', (t) => {
  const [one, two] = [observe('one'), observe('two')]
  const { x } = begin(t, [one.plugin, two.plugin])
  x.send(200, new HeaderList(), 'text')
  t.strictSame(
    [one.events, two.events],
    [
      ['text', true],
      ['text', true],
    ],
  )
  t.end()
})

t.test('a failing hook is reported, and becomes a 500', (t) => {
  const { plugin, events } = observe()
  const failing: Plugin = {
    name: 'failing',
    onResponse() {
      throw new Error('oops')
    },
  }
  const { x, faults } = begin(t, [plugin, failing])
  x.send(200, new HeaderList(), 'text')
  t.equal(x.status, 500)
  t.match(faults, [{ message: 'oops' }, { plugin: 'failing', hook: 'onResponse' }])
  t.strictSame(events, [false])
  t.end()
})

t.test('an onError hook replaces an error by a response, before error pages', (t) => {
  const cache: Plugin = {
    name: 'cache',
    onResponse: () => undefined,
    onError: () => ({ status: 200, headers: new HeaderList(['x-a', '1']), body: 'stale' }),
  }
  const page: Plugin = { name: 'page', onError: () => ({ contentType: 'text/html', body: 'page' }) }
  const { x } = begin(t, [cache, page, upper])
  x.fail(new GatewayError('', 502, 'failed'))
  t.strictSame([x.status, x.body, x.replyHeaders.get('x-a')], [200, 'STALE', '1'])
  t.end()
})
