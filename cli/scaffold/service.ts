import {
  formatPackage,
  GITIGNORE,
  type Template,
  TSCONFIG,
  toCamelCase,
  toPascalCase,
} from './template.ts'

const SCRIPTS = {
  dev: 'tsx watch main.ts',
  check: 'tsc',
  test: 'node --import tsx --test *.test.ts',
}

/** Template for a service in TypeScript with two endpoints, one of them streaming, and a test. */
export const service: Template = {
  kind: 'service',

  files: (name) => ({
    [`${name}.ts`]: `import { endpoint, Service, Type } from 'mx-gateway'

const Message = Type.Object({ message: Type.String() })

export const ${toCamelCase(name)} = new Service({ name: '${name}' }).handle('${toPascalCase(name)}', {
  call: endpoint({
    description: 'Says hello.',
    request: Type.Object({
      name: Type.String({ minLength: 1, description: 'Name to greet.' }),
    }),
    response: Message,
    handle: ({ name }) => ({ message: \`Hello \${name}\` }),
  }),
  stream: endpoint({
    description: 'Streams a message for each number.',
    request: Type.Object({
      count: Type.Integer({ minimum: 0, default: 3, description: 'Number of messages.' }),
    }),
    response: Message,
    stream: 'server',
    *handle({ count }) {
      for (let n = 1; n <= count; n++) yield { message: \`\${n} of \${count}\` }
    },
  }),
})
`,
    'main.ts': `import { ${toCamelCase(name)} } from './${name}.ts'

await ${toCamelCase(name)}.run()
`,
    [`${name}.test.ts`]: `import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Client } from 'mx-gateway'
import { ${toCamelCase(name)} } from './${name}.ts'

const client = new Client({ services: [${toCamelCase(name)}] })
const { ${toPascalCase(name)} } = client.service<typeof ${toCamelCase(name)}>('${name}')

test('greets by name', async () => {
  assert.deepEqual(await ${toPascalCase(name)}.call({ name: 'John' }), { message: 'Hello John' })
})

test('streams a message for each number', async () => {
  const messages: string[] = []
  for await (const { message } of ${toPascalCase(name)}.stream.stream({ count: 2 })) messages.push(message)
  assert.deepEqual(messages, ['1 of 2', '2 of 2'])
})
`,
    'package.json': formatPackage(name, { scripts: SCRIPTS }),
    'tsconfig.json': TSCONFIG,
    '.gitignore': GITIGNORE,
    'README.md': `# ${name}

A service. \`${name}.ts\` declares its endpoints, \`main.ts\` runs it.

\`\`\`sh
mx run .                                  # deploy; after a change: mx update .
mx ${name} call --name=John
curl '127.0.0.1:8080/${name}/call?name=John'
\`\`\`

Development: \`npm install\`, \`npm test\`, \`npm run check\`, and \`MX_PROXY=127.0.0.1:8081 npm run dev\` to run it locally.
`,
  }),

  next: (name) => [
    ['npm install', 'install the compiler and the SDK'],
    ['npm test', 'test its endpoints'],
    ['mx run .', "deploy it to 'mx server'"],
    [`mx ${name} call --name=John`, 'call it'],
  ],
}
