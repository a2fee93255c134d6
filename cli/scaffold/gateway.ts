import type { Template } from './template.ts'

/** Template for a configuration of a standalone gateway. */
export const gateway: Template = {
  kind: 'gateway',

  files: (name) => ({
    'mx.yaml': `# ${name}: mx api reads this file from its working folder, and reloads it when it changes.
# All settings: mx api --help, docs/configuration.md. A flag of the same name wins.
address: 127.0.0.1:8080
handler: proxy

# GET /greeter/hello is proxied to one of these nodes.
services:
  greeter:
    - 127.0.0.1:9001
    - 127.0.0.1:9002

# Plugins, in this order (default: the default plugins).
# plugins:
#   - request-id
#   - access-log
#   - namespace
#   - forwarded
#   - body-limit: { limit: 1mb }
`,
    'README.md': `# ${name}

A gateway, configured by \`mx.yaml\`.

\`\`\`sh
mx api check                              # validate mx.yaml
mx api explain GET /greeter/hello         # show how a request is handled
mx api
\`\`\`
`,
  }),

  next: () => [
    ['mx api check', 'validate mx.yaml'],
    ['mx api explain GET /greeter/hello', 'show how a request is handled'],
    ['mx api', 'start the gateway'],
  ],
}
