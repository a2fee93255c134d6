/** Id of the dashboard's own errors. */
export const ID = 'dashboard'
