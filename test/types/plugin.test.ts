import t from 'tap'
import {
  definePlugin,
  type Exchange,
  type Maybe,
  type Plugin,
  type PluginDefinition,
  type PluginHooks,
  type Step,
  Type,
} from '../../sdk/index.ts'

// Checked by `tsc`, which `npm run check` runs. A line that unexpectedly compiles, or unexpectedly does not, is a
// compile error.

type Equal<A, B> =
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
const assertTrue = <_ extends true>(): void => {}

t.test('`create` receives options with the types of their schema', async (t) => {
  const definition: PluginDefinition = definePlugin({
    name: 'typed',
    description: 'A plugin for type tests.',
    options: Type.Object({ max: Type.Integer({ default: 1 }), words: Type.Array(Type.String()) }),
    create({ max, words }) {
      assertTrue<Equal<typeof max, number>>()
      assertTrue<Equal<typeof words, string[]>>()
      return {}
    },
  })
  t.equal(definition.name, 'typed')
})

t.test('an undeclared option does not compile', async (t) => {
  const definition = definePlugin({
    name: 'typed',
    description: 'A plugin for type tests.',
    options: Type.Object({ max: Type.Integer({ default: 1 }) }),
    create(options) {
      // @ts-expect-error: the schema declares `max`
      void options.min
      return {}
    },
  })
  t.equal(definition.name, 'typed')
})

t.test('hooks before the response may be asynchronous, but hooks after it may not', async (t) => {
  assertTrue<Equal<ReturnType<Step>, Maybe<void>>>()
  assertTrue<Equal<Parameters<Step>, [x: Exchange]>>()
  assertTrue<Equal<ReturnType<NonNullable<Plugin['onReply']>>, void>>()
  assertTrue<Equal<ReturnType<NonNullable<Plugin['onDone']>>, void>>()
  const hooks: PluginHooks = { onRequest: async () => {}, onReply: () => {} }
  t.same(Object.keys(hooks), ['onRequest', 'onReply'])
})

t.test('the identity of a request is read-only', async (t) => {
  const change = (x: Exchange): void => {
    // @ts-expect-error: the listener captured it
    x.path = '/other'
    // @ts-expect-error: change the list through its methods
    x.headers = undefined
    x.status = 418
  }
  t.type(change, 'function')
})
