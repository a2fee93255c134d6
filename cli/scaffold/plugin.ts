import { formatPackage, GITIGNORE, type Template, TSCONFIG, toCamelCase } from './template.ts'

/** A plugin of the gateway in TypeScript, with an option, and its test. */
export const plugin: Template = {
  kind: 'plugin',

  files: (name) => ({
    [`${name}.ts`]: `import { definePlugin, type PluginDefinition, Type } from 'mx-gateway'

/** Sets a field of every reply. */
const plugin: PluginDefinition = definePlugin({
  name: '${name}',
  description: 'Sets a field of every reply.',
  options: Type.Object({
    value: Type.String({ default: '${name}', description: 'Value of the field.' }),
  }),
  create({ value }) {
    // What can be worked out here is not worked out for every request.
    return {
      onReply: (x) => x.replyHeaders.set('x-${name}', value),
    }
  },
})

export default plugin
`,
    [`${name}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { buildPlugin, runPlugin } from 'mx-gateway/testing'
import ${toCamelCase(name)} from './${name}.ts'

test('it sets its field', async () => {
  const { status, headers } = await runPlugin(buildPlugin(${toCamelCase(name)}, { value: 'yes' }))
  assert.equal(status, 200)
  assert.equal(headers.get('x-${name}'), 'yes')
})
`,
    'mx.yaml': `# mx api takes this file from the folder it is started in. The list is all that runs, in this order.
plugins:
  - request-id
  - access-log
  - namespace
  - forwarded
  - body-limit
  - ./${name}.ts:
      value: hello
`,
    'package.json': formatPackage(name, {
      scripts: { check: 'tsc', test: 'node --import tsx --test *.test.ts' },
    }),
    'tsconfig.json': TSCONFIG,
    '.gitignore': GITIGNORE,
    'README.md': `# ${name}

A plugin of the gateway. \`mx.yaml\` lists it, with its options; \`mx api\` here uses it, and takes changes over as they are saved.

To develop it: \`npm install\`, \`npm test\` and \`npm run check\`.
`,
  }),

  next: () => [
    ['npm install', 'installs the compiler and the SDK'],
    ['npm test', 'runs it on a request'],
    ['mx api check', 'whether the gateway takes it'],
    ['mx api', 'a gateway with it'],
  ],
}
