import { type CallState, useCall } from '../hooks/use-call.ts'
import { call } from '../rpc/caller.ts'
import { type AccountMessage, type AccountPage, readAccounts } from './account.ts'

/** Loads the accounts of the namespace. */
export function useAccounts(): CallState<readonly AccountMessage[]> {
  return useCall(
    (signal) =>
      readAccounts(async (after) => {
        const page = await call<AccountPage>('auth', 'Accounts.List', { after }, { signal })
        return page.body
      }),
    [],
  )
}
