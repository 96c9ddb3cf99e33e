// SPDX-License-Identifier: GPL-3.0-or-later
// SPDX-FileCopyrightText: The gpuops.reservations contributors

package main

import (
	"fmt"
	"net/url"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"go.etcd.io/etcd/server/v3/embed"
)

// etcdCommand serves one etcd member. Nothing is synced to disk: a lab that
// loses power is made again.
func etcdCommand() *cobra.Command {
	var dataDir, client, peer string
	command := &cobra.Command{
		Use:          "etcd",
		Short:        "one etcd member without fsync",
		SilenceUsage: true,
		RunE: func(command *cobra.Command, _ []string) error {
			clientURL, err := url.Parse(client)
			if err != nil {
				return fmt.Errorf("--client-url: %w", err)
			}
			peerURL, err := url.Parse(peer)
			if err != nil {
				return fmt.Errorf("--peer-url: %w", err)
			}
			config := embed.NewConfig()
			config.Name = "lab"
			config.Dir = dataDir
			config.UnsafeNoFsync = true
			config.LogLevel = "warn"
			config.ListenClientUrls = []url.URL{*clientURL}
			config.AdvertiseClientUrls = []url.URL{*clientURL}
			config.ListenPeerUrls = []url.URL{*peerURL}
			config.AdvertisePeerUrls = []url.URL{*peerURL}
			config.InitialCluster = config.InitialClusterFromName(config.Name)
			config.QuotaBackendBytes = 4 << 30
			ctx, stop := signal.NotifyContext(command.Context(), syscall.SIGINT, syscall.SIGTERM)
			defer stop()
			server, err := embed.StartEtcd(config)
			if err != nil {
				return fmt.Errorf("etcd does not start: %w", err)
			}
			defer server.Close()
			select {
			case <-server.Server.ReadyNotify():
			case <-time.After(30 * time.Second):
				return fmt.Errorf("etcd is not ready after 30 s")
			case <-ctx.Done():
				return nil
			}
			select {
			case <-ctx.Done():
				return nil
			case err := <-server.Err():
				return fmt.Errorf("etcd stopped: %w", err)
			}
		},
	}
	command.Flags().StringVar(&dataDir, "data-dir", "", "where the member keeps its data")
	command.Flags().StringVar(&client, "client-url", "", "URL that clients use")
	command.Flags().StringVar(&peer, "peer-url", "", "URL that peers would use")
	for _, name := range []string{"data-dir", "client-url", "peer-url"} {
		if err := command.MarkFlagRequired(name); err != nil {
			panic(err) // a flag of this very command is missing: a programming error
		}
	}
	return command
}
