import t from 'tap'
import { Type } from 'typebox'
import {
  createPlugin,
  definePlugin,
  type PluginEnv,
  type PluginScope,
  toPlugin,
} from '../../../core/plugin/define.ts'
import { suggest } from '../../../lib/text/did-you-mean.ts'

const silent = () => {}
const env: PluginEnv = {
  log: { debug: silent, info: silent, warn: silent, error: silent },
  nowMs: () => 0,
}

let received: unknown
const sample = definePlugin({
  name: 'sample',
  description: 'Keeps its options.',
  options: Type.Object({
    header: Type.String({ default: 'x-sample', minLength: 1 }),
    origins: Type.Array(Type.String(), { default: [] }),
    size: Type.Optional(Type.Union([Type.Integer({ minimum: 1 }), Type.Literal('none')])),
    mode: Type.Optional(Type.Union([Type.Literal('fast'), Type.Literal('safe')])),
    request: Type.Optional(
      Type.Object({ set: Type.Optional(Type.Record(Type.String(), Type.String())) }),
    ),
    secret: Type.Optional(Type.String({ writeOnly: true })),
    needed: Type.Integer(),
  }),
  create(options) {
    received = options
    if (options.header === 'bad') throw new RangeError('header must not be bad')
    return { onRequest() {} }
  },
})

t.test('a plugin without options rejects any option', async (t) => {
  const bare = definePlugin({
    name: 'bare',
    description: 'Takes no options.',
    create: () => ({ onRequest() {} }),
  })
  t.equal(createPlugin(bare, undefined, env).name, 'bare')
  t.throws(() => createPlugin(bare, { a: 1 }, env), /plugin "bare": unknown option "a"/)
})

t.test('option defaults are added without modifying the passed options', async (t) => {
  const input = { needed: 1 }
  const plugin = createPlugin(sample, input, env)
  t.same(received, { header: 'x-sample', origins: [], needed: 1 })
  t.same(input, { needed: 1 })
  t.equal(plugin.name, 'sample')
})

t.test('a default list is not shared between two plugins', async (t) => {
  createPlugin(sample, { needed: 1 }, env)
  const first = received as { origins: string[] }
  createPlugin(sample, { needed: 1 }, env)
  t.not((received as { origins: string[] }).origins, first.origins)
})

t.test(
  'an option error names the plugin, the option, the expected and the actual value',
  async (t) => {
    const cases: [unknown, string][] = [
      [{ needed: 1, header: 5 }, 'plugin "sample": option "header" must be string, got 5'],
      [
        { needed: 1, origins: ['a', 4] },
        'plugin "sample": option "origins[1]" must be string, got 4',
      ],
      [
        { needed: 1, mode: 'slow' },
        'plugin "sample": option "mode" must be "fast" or "safe", got "slow"',
      ],
      [
        { needed: 1, size: 'big' },
        'plugin "sample": option "size" must be integer or "none", got "big"',
      ],
      [{}, 'plugin "sample": option "needed" is missing'],
      [{ needed: 1.5 }, 'plugin "sample": option "needed" must be integer, got 1.5'],
      [
        { needed: 1, request: { set: { a: 1 } } },
        'plugin "sample": option "request.set.a" must be string, got 1',
      ],
      [7, 'plugin "sample": options must be an object, got 7'],
      [[], 'plugin "sample": options must be an object, got []'],
      [{ needed: 1, header: 'bad' }, 'plugin "sample": header must not be bad'],
    ]
    for (const [options, message] of cases)
      t.throws(() => createPlugin(sample, options, env), { name: 'TypeError', message })
  },
)

t.test('the error for an unknown option suggests the nearest known option', async (t) => {
  t.throws(() => createPlugin(sample, { needed: 1, orgins: [] }, env), {
    message: 'plugin "sample": unknown option "orgins", did you mean "origins"?',
  })
  t.throws(
    () => createPlugin(sample, { needed: 1, colour: 1 }, env),
    /unknown option "colour"; known: header, origins/,
  )
  t.throws(
    () => createPlugin(sample, { needed: 1, request: { sett: {} } }, env),
    /unknown option "request.sett"/,
  )
})

t.test('all option errors are reported, one per line', async (t) => {
  t.throws(
    () => createPlugin(sample, { header: 5, orgins: [], mode: 'slow', origins: ['a', 4] }, env),
    {
      message: [
        'plugin "sample": option "needed" is missing',
        'plugin "sample": unknown option "orgins", did you mean "origins"?',
        'plugin "sample": option "header" must be string, got 5',
        'plugin "sample": option "origins[1]" must be string, got 4',
        'plugin "sample": option "mode" must be "fast" or "safe", got "slow"',
      ].join('\n'),
    },
  )
})

t.test('the value of a write-only option is never printed', async (t) => {
  t.throws(() => createPlugin(sample, { needed: 1, secret: 12345 }, env), {
    message: 'plugin "sample": option "secret" must be string, got number',
  })
})

t.test('the options serialize to JSON Schema', async (t) => {
  const schema = JSON.parse(JSON.stringify(sample.options))
  t.equal(schema.additionalProperties, false)
  t.same(schema.required, ['header', 'origins', 'needed'])
  t.equal(schema.properties.header.default, 'x-sample')
})

t.test('a plugin name must be kebab-case', async (t) => {
  const options = Type.Object({})
  for (const name of ['', 'Sample', 'a_b', '1a', 'a--b']) {
    t.throws(
      () => definePlugin({ name, description: '', options, create: () => ({}) }),
      /must be kebab-case/,
      name,
    )
  }
})

t.test(
  'a plugin at a scope that it does not allow is rejected with the allowed ones',
  async (t) => {
    const early = definePlugin({
      ...{ name: 'early', description: '', scopes: ['gateway', 'service'], create: () => ({}) },
    })
    t.equal(createPlugin(early, {}, env, 'service').name, 'early')
    t.equal(createPlugin(early, {}, env).name, 'early', 'not checked in tests of plugins')
    t.throws(() => createPlugin(early, {}, env, 'route'), {
      message:
        'plugin "early" is not allowed in the plugins of a route; allowed scopes: gateway, service',
    })
    const define = (scopes: readonly PluginScope[]) => () =>
      definePlugin({ name: 'early', description: '', scopes, create: () => ({}) })
    const message =
      /plugin "early": scopes must be a list of gateway, service, route, consumer, endpoint, got/
    t.throws(define([]), message)
    t.throws(define(['server' as PluginScope]), message)
  },
)

t.test('create must return an object with known hooks', async (t) => {
  t.throws(() => toPlugin('a', 5), { message: 'plugin "a": must be an object with hooks, got 5' })
  t.throws(() => toPlugin('a', { onRequest: 1 }), {
    message: 'plugin "a": onRequest must be a function, got 1',
  })
  t.throws(() => toPlugin('a', { onReqest() {} }), {
    message: 'plugin "a": unknown hook onReqest, did you mean onRequest?',
  })
  t.throws(
    () => toPlugin('a', { onFoobarBaz() {} }),
    /known: onRequest, onRoute, onForward, onError, onResponse, onReplyBody, onReply, onDone, close/,
  )
  t.throws(() => toPlugin('a', { name: 'B' }), /name must be kebab-case, got "B"/)
  t.throws(() => toPlugin('a', Object.freeze({})), /a frozen plugin must have a name/)
  t.throws(() => toPlugin('a', Promise.resolve({})), /not a promise/)
})

t.test('a plugin can be a class instance with private fields', async (t) => {
  class Counter {
    #count = 0
    onRequest() {
      this.#count++
    }
    get count() {
      return this.#count
    }
  }
  const counter = new Counter()
  const plugin = toPlugin('counter', counter)
  plugin.onRequest?.(undefined as never)
  t.equal(counter.count, 1)
  t.equal(plugin.name, 'counter')
})

t.test('suggest returns the nearest known word, or undefined if none is near', async (t) => {
  const names = ['cors', 'headers', 'access-log']
  t.equal(suggest('cros', names), 'cors')
  t.equal(suggest('acces-log', names), 'access-log')
  t.equal(suggest('HEADERS', names), 'headers')
  t.equal(suggest('unrelated', names), undefined)
})
