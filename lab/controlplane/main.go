// SPDX-FileCopyrightText: The gpuops.reservations contributors
// SPDX-License-Identifier: GPL-3.0-or-later

// Command controlplane is the lab's control plane in one binary: etcd and the
// real API server, controller manager and scheduler, a sub-command each, with
// their own flags. They are dependencies here; none of their source is copied.
package main

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/component-base/cli"
	_ "k8s.io/component-base/logs/json/register"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"
	scheduler "k8s.io/kubernetes/cmd/kube-scheduler/app"
)

// components holds what runs a program, by its name. Each ends the process.
// The files for etcd and the API server add theirs unless they are left out.
var components = map[string]func(){
	"kube-controller-manager": kubernetes(controllermanager.NewControllerManagerCommand),
	"kube-scheduler": kubernetes(func() *cobra.Command {
		return scheduler.NewSchedulerCommand()
	}),
}

// kubernetes runs a component's own command, which reads os.Args. The command
// is made late: making one registers flags for the whole process.
func kubernetes(command func() *cobra.Command) func() {
	return func() { os.Exit(cli.Run(command())) }
}

func main() {
	names := strings.Join(slices.Sorted(maps.Keys(components)), "|")
	if len(os.Args) < 2 {
		fmt.Fprintf(os.Stderr, "usage: controlplane %s [flags]\n", names)
		os.Exit(2)
	}
	run, known := components[os.Args[1]]
	if !known {
		fmt.Fprintf(os.Stderr, "controlplane: %q is none of %s\n", os.Args[1], names)
		os.Exit(2)
	}
	os.Args = os.Args[1:]
	run()
}
