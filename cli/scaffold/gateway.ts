import type { Template } from './template.ts'

/** A configuration of the gateway alone. */
export const gateway: Template = {
  kind: 'gateway',

  files: (name) => ({
    'mx.yaml': `# ${name}: mx api takes this file from the folder it is started in, and takes changes over as it is saved.
# All settings: mx api --help, docs/configuration.md. A flag of the same name wins.
address: 127.0.0.1:8080
handler: proxy

# GET /greeter/hello goes to one of its nodes.
services:
  greeter:
    - 127.0.0.1:9001
    - 127.0.0.1:9002

# Every plugin that runs, in this order; without the list there are the default ones.
# plugins:
#   - request-id
#   - access-log
#   - namespace
#   - forwarded
#   - body-limit: { limit: 1mb }
`,
    'README.md': `# ${name}

A gateway: \`mx.yaml\` says what it serves.

\`\`\`sh
mx api check                              # whether the file is right
mx api explain GET /greeter/hello         # what a request would meet
mx api
\`\`\`
`,
  }),

  next: () => [
    ['mx api check', 'whether mx.yaml is right'],
    ['mx api explain GET /greeter/hello', 'what a request would meet'],
    ['mx api', 'starts it'],
  ],
}
