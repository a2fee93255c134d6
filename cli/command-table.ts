import type { CAC } from 'cac'

/** A built-in command. */
export interface CommandEntry {
  readonly name: string
  readonly description: string
  /** Loaded when the command is used, so that the others cost nothing. */
  readonly load: () => Promise<(cli: CAC) => Promise<void> | void>
  /** Where a service has the same name: what may follow the command. Any other word is an endpoint of the service. */
  readonly subcommands?: readonly string[]
}

/** All commands, in the order of help. */
export const COMMANDS: readonly CommandEntry[] = [
  {
    name: 'server',
    description: 'Start the whole system',
    load: async () => (await import('./commands/server.ts')).registerServer,
  },
  {
    name: 'api',
    description: 'Start the gateway alone',
    load: async () => (await import('./commands/api.ts')).registerApi,
  },
  {
    name: 'dashboard',
    description: 'Start the dashboard alone, of an environment',
    load: async () => (await import('./commands/dashboard.ts')).registerDashboard,
  },
  {
    name: 'login',
    description: 'Log in to an environment',
    load: async () => (await import('./commands/login.ts')).registerLogin,
  },
  {
    name: 'logout',
    description: 'Log out of an environment',
    load: async () => (await import('./commands/logout.ts')).registerLogout,
  },
  {
    name: 'signup',
    description: 'Make an account, where there is a signup service',
    load: async () => (await import('./commands/signup.ts')).registerSignup,
  },
  {
    name: 'user',
    description: 'Show who is logged in, a token, the namespace',
    load: async () => (await import('./commands/user.ts')).registerUser,
  },
  {
    name: 'env',
    description: 'List, select, add and delete environments',
    load: async () => (await import('./commands/env.ts')).registerEnv,
  },
  {
    name: 'services',
    description: 'List the services that are registered',
    load: async () => (await import('./commands/services.ts')).registerServices,
  },
  {
    name: 'call',
    description: 'Call an endpoint of a service',
    load: async () => (await import('./commands/call.ts')).registerCall,
  },
  {
    name: 'stream',
    description: 'Call an endpoint, and print the stream it answers with',
    load: async () => (await import('./commands/stream.ts')).registerStream,
  },
  {
    name: 'stats',
    description: 'Show request rates and resource usage of services',
    load: async () => (await import('./commands/stats.ts')).registerStats,
  },
  {
    name: 'auth',
    description: 'Manage accounts and rules',
    subcommands: ['list', 'create', 'delete', 'test', 'update', 'reset'],
    load: async () => (await import('./commands/auth.ts')).registerAuth,
  },
  {
    name: 'config',
    description: 'Read and change the configuration of services',
    subcommands: ['get', 'set', 'del', 'list', 'history', 'rollback'],
    load: async () => (await import('./commands/config.ts')).registerConfig,
  },
  {
    name: 'store',
    description: 'Read and write records of the store',
    subcommands: ['read', 'list', 'write', 'delete', 'databases', 'tables', 'snapshot', 'restore'],
    load: async () => (await import('./commands/store.ts')).registerStore,
  },
  {
    name: 'broker',
    description: 'Publish messages and subscribe to them',
    subcommands: ['publish', 'subscribe'],
    load: async () => (await import('./commands/broker.ts')).registerBroker,
  },
  {
    name: 'events',
    description: 'Publish, consume, read and list events',
    subcommands: ['publish', 'consume', 'read', 'topics'],
    load: async () => (await import('./commands/events.ts')).registerEvents,
  },
  {
    name: 'network',
    description: 'Show and make links between servers',
    subcommands: ['nodes', 'connections', 'routes', 'services', 'graph', 'connect'],
    load: async () => (await import('./commands/network.ts')).registerNetwork,
  },
  {
    name: 'registry',
    description: 'Show a service: versions, nodes, endpoints',
    subcommands: ['get'],
    load: async () => (await import('./commands/registry.ts')).registerRegistry,
  },
  {
    name: 'run',
    description: 'Run a service from a folder or a repository',
    load: async () => (await import('./commands/run.ts')).registerRun,
  },
  {
    name: 'update',
    description: 'Take what runs to its newest code, without losing a call',
    load: async () => (await import('./commands/update.ts')).registerUpdate,
  },
  {
    name: 'kill',
    description: 'End what runs',
    load: async () => (await import('./commands/kill.ts')).registerKill,
  },
  {
    name: 'logs',
    description: 'Show what a service has written',
    load: async () => (await import('./commands/logs.ts')).registerLogs,
  },
  {
    name: 'status',
    description: 'Show what runs',
    load: async () => (await import('./commands/status.ts')).registerStatus,
  },
  {
    name: 'gen',
    description: 'Write a client of services that run',
    load: async () => (await import('./commands/gen.ts')).registerGen,
  },
  {
    name: 'new',
    description: 'Begin a service, a plugin or a gateway',
    load: async () => (await import('./commands/new.ts')).registerNew,
  },
  {
    name: 'completion',
    description: 'Complete commands, services and fields in a shell',
    load: async () => (await import('./commands/completion.ts')).registerCompletion,
  },
  {
    name: 'doctor',
    description: 'Check this machine and the server, and say what to do',
    load: async () => (await import('./commands/doctor.ts')).registerDoctor,
  },
  {
    name: 'version',
    description: 'Show the version of this program',
    load: async () => (await import('./commands/version.ts')).registerVersion,
  },
  {
    name: 'bench',
    description: 'Drive one route of a running gateway and measure it',
    load: async () => (await import('./commands/bench.ts')).registerBench,
  },
]
