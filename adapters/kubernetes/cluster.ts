import { constants } from 'node:fs'
import { access, readFile } from 'node:fs/promises'
import type { RequestOptions } from 'node:https'
import { homedir } from 'node:os'
import { join } from 'node:path'

/** An API server and a namespace. */
export interface Cluster {
  /** `http:` or `https:`; may have a path, for example behind a proxy. */
  readonly server: URL
  readonly namespace: string
  /** Returns the credentials and certificates for a single request, because tokens rotate. */
  readonly readOptions: () => Promise<RequestOptions>
}

export interface ClusterOptions {
  /** @default the namespace of the pod or of the kubeconfig context, otherwise `default` */
  readonly namespace?: string
  /**
   * Context of the kubeconfig.
   *
   * @default the service account inside a cluster, the current context outside
   */
  readonly context?: string
  /**
   * Folder of the service account in a pod.
   *
   * @default /var/run/secrets/kubernetes.io/serviceaccount
   */
  readonly accountFolder?: string
}

/** https://kubernetes.io/docs/tasks/run-application/access-api-from-pod/ */
const ACCOUNT_FOLDER = '/var/run/secrets/kubernetes.io/serviceaccount'

/**
 * Finds the cluster of this pod, or the cluster configured in `KUBECONFIG` or `~/.kube/config`.
 *
 * @throws {Error} if there is no cluster, the configuration is malformed, or a kubeconfig is used
 * without the client library.
 */
export async function findCluster(options: ClusterOptions): Promise<Cluster> {
  const { context, accountFolder = ACCOUNT_FOLDER } = options
  const host = process.env['KUBERNETES_SERVICE_HOST']
  if (
    context === undefined &&
    host !== undefined &&
    (await isReadable(join(accountFolder, 'token')))
  )
    return openAccount(host, accountFolder, options.namespace)
  return openKubeconfig(context, options.namespace)
}

/** Returns a function that finds the cluster and caches it. */
export function createFinder(options: ClusterOptions): () => Promise<Cluster> {
  let cached: Promise<Cluster> | undefined
  return () => {
    cached ??= findCluster(options).catch((error: unknown) => {
      cached = undefined
      throw error
    })
    return cached
  }
}

/**
 * Reads the three files directly: the client library would use 75 MB of memory in every gateway in
 * a cluster.
 */
async function openAccount(host: string, folder: string, namespace?: string): Promise<Cluster> {
  const port = process.env['KUBERNETES_SERVICE_PORT'] ?? '443'
  const read = async (name: string): Promise<string> =>
    (await readFile(join(folder, name), 'utf8')).trim()
  return {
    server: new URL(`https://${host.includes(':') ? `[${host}]` : host}:${port}`),
    namespace: namespace ?? (await read('namespace')),
    readOptions: async () => {
      const [token, ca] = await Promise.all([read('token'), read('ca.crt')])
      return { ca, headers: { authorization: `Bearer ${token}` } }
    },
  }
}

async function openKubeconfig(context?: string, namespace?: string): Promise<Cluster> {
  if (!process.env['KUBECONFIG'] && !(await isReadable(join(homedir(), '.kube', 'config')))) {
    throw new Error(
      'no Kubernetes cluster found: this is not a pod with a service account, KUBECONFIG is not set and ~/.kube/config does not exist',
    )
  }
  const { KubeConfig } = await importLibrary()
  const config = new KubeConfig()
  try {
    config.loadFromDefault()
  } catch (cause) {
    const file = process.env['KUBECONFIG'] || '~/.kube/config'
    throw new Error(`cannot read the kubeconfig ${file}: ${(cause as Error).message}`, { cause })
  }
  if (context !== undefined) config.setCurrentContext(context)
  const current = config.getContextObject(config.getCurrentContext())
  const cluster = config.getCurrentCluster()
  if (current === null || cluster === null) {
    const names = config.getContexts().map(({ name }) => name)
    throw new Error(
      `the kubeconfig has no context ${JSON.stringify(config.getCurrentContext() ?? '')} with a cluster; available: ${names.join(', ') || 'none'}`,
    )
  }
  return {
    server: new URL(cluster.server),
    namespace: namespace ?? current.namespace ?? 'default',
    readOptions: async () => {
      const options: RequestOptions = {}
      await config.applyToHTTPSOptions(options)
      return options
    },
  }
}

async function importLibrary(): Promise<typeof import('@kubernetes/client-node')> {
  try {
    return await import('@kubernetes/client-node')
  } catch (cause) {
    throw new Error(
      'reading a kubeconfig requires the package @kubernetes/client-node: npm install @kubernetes/client-node@1.3',
      { cause },
    )
  }
}

async function isReadable(file: string): Promise<boolean> {
  return access(file, constants.R_OK).then(
    () => true,
    () => false,
  )
}
